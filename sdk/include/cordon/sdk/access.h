// How far an operation may go before anything runs. Pure values; safe from any thread.

#ifndef CORDON_SDK_ACCESS_H_
#define CORDON_SDK_ACCESS_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace cordon {

// Ordered, so that the narrower of two is `Min`. Zero is the safe choice. The numbers are pinned:
// they appear in stored rules and fingerprints.
enum class Access : std::uint8_t {
  kDeny = 0,   // Never, whoever approves.
  kGated = 1,  // Only with a grant that a Gate issued for this very operation.
  kAllow = 2,  // Without asking. A stored deny rule still holds.
};

inline constexpr int kAccessVersion = 1;

[[nodiscard]] constexpr Access Min(Access a, Access b) { return a < b ? a : b; }
[[nodiscard]] constexpr Access Max(Access a, Access b) { return a < b ? b : a; }

// "deny", "gated" or "allow".
[[nodiscard]] std::string_view AccessName(Access access);

// The inverse of `AccessName`; nothing for any other text.
[[nodiscard]] std::optional<Access> ParseAccess(std::string_view text);

}  // namespace cordon

#endif  // CORDON_SDK_ACCESS_H_
