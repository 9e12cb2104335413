// What a policy refused while a command ran, as the report and the model see it. A pure value.

#ifndef CORDON_SDK_DENIAL_H_
#define CORDON_SDK_DENIAL_H_

#include <cstdint>
#include <string>

namespace cordon {

struct Denial {
  std::string kind;    // "network", "filesystem.read", "filesystem.write", "filesystem.execute",
                       // "unix_socket"
  std::string target;  // `tcp:host:port`, `name:HOST` or an absolute path.
  std::uint64_t count = 0;
  std::string reason;      // The rule that refused it.
  std::string allow_with;  // The option that would allow it.

  friend bool operator==(const Denial&, const Denial&) = default;
};

}  // namespace cordon

#endif  // CORDON_SDK_DENIAL_H_
