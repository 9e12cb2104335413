// Tokens that weaken confinement. Each is a type of its own in a header of its own, so that every
// place which gives up a boundary can be found by its include and reads like what it is.

#ifndef CORDON_SDK_UNSAFE_H_
#define CORDON_SDK_UNSAFE_H_

namespace cordon {

// Acknowledges that a profile with `Isolation::kUnconfined` runs commands with the full authority
// of the calling process: no boundary of the operating system, level none.
class UnconfinedAcknowledgement {
 public:
  [[nodiscard]] static constexpr UnconfinedAcknowledgement CommandsRunWithMyFullAuthority() {
    return UnconfinedAcknowledgement(true);
  }
  // Not acknowledged.
  constexpr UnconfinedAcknowledgement() = default;
  [[nodiscard]] constexpr bool given() const { return given_; }

  friend bool operator==(UnconfinedAcknowledgement, UnconfinedAcknowledgement) = default;

 private:
  explicit constexpr UnconfinedAcknowledgement(bool given) : given_(given) {}
  bool given_ = false;
};

// Opens ptrace(2) and process_vm_readv(2) between the processes of one sandbox, as debuggers need
// it, and acknowledges that whatever runs there can read and steer everything else that runs there.
// What is outside of the sandbox stays out of reach.
class TracingAcknowledgement {
 public:
  [[nodiscard]] static constexpr TracingAcknowledgement ProcessesMaySteerEachOther() {
    return TracingAcknowledgement(true);
  }
  // Not opened.
  constexpr TracingAcknowledgement() = default;
  [[nodiscard]] constexpr bool given() const { return given_; }

  friend bool operator==(TracingAcknowledgement, TracingAcknowledgement) = default;

 private:
  explicit constexpr TracingAcknowledgement(bool given) : given_(given) {}
  bool given_ = false;
};

// Lets commands make user namespaces, and pid, network and ipc namespaces and other roots in them,
// as the sandboxes of browsers need it. Acknowledges that they have every capability in there, and
// that much more of the kernel can be attacked with that; by the kernel's rules none of it reaches
// further than what they made themselves. Nothing can be mounted in there either.
class NestedNamespacesAcknowledgement {
 public:
  [[nodiscard]] static constexpr NestedNamespacesAcknowledgement CommandsMayReachMoreOfTheKernel() {
    return NestedNamespacesAcknowledgement(true);
  }
  // Not opened.
  constexpr NestedNamespacesAcknowledgement() = default;
  [[nodiscard]] constexpr bool given() const { return given_; }

  friend bool operator==(NestedNamespacesAcknowledgement,
                         NestedNamespacesAcknowledgement) = default;

 private:
  explicit constexpr NestedNamespacesAcknowledgement(bool given) : given_(given) {}
  bool given_ = false;
};

}  // namespace cordon

#endif  // CORDON_SDK_UNSAFE_H_
