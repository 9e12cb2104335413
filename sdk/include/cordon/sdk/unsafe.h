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

}  // namespace cordon

#endif  // CORDON_SDK_UNSAFE_H_
