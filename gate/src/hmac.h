// A key for HMAC-SHA-256 (RFC 2104) that never leaves its object.

#ifndef CORDON_GATE_SRC_HMAC_H_
#define CORDON_GATE_SRC_HMAC_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "cordon/sdk/digest.h"

namespace cordon::internal {

using Mac = Digest;

// Its bytes are overwritten when it is destroyed. Immutable; safe from any thread.
class HmacKey {
 public:
  static constexpr std::size_t kBytes = 32;

  // Returns kInternal when `random` yields nothing.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<HmacKey>> Generate(
      const std::function<bool(absl::Span<std::uint8_t>)>& random);

  HmacKey(const HmacKey&) = delete;
  HmacKey& operator=(const HmacKey&) = delete;
  ~HmacKey();

  [[nodiscard]] Mac Sign(std::string_view text) const;

 private:
  HmacKey() = default;
  std::array<std::uint8_t, kBytes> bytes_{};
};

// Takes the same time wherever the two differ.
[[nodiscard]] bool EqualMacs(const Mac& a, const Mac& b);

// The kernel's generator, getrandom(2).
[[nodiscard]] bool FillRandom(absl::Span<std::uint8_t> out);

}  // namespace cordon::internal

#endif  // CORDON_GATE_SRC_HMAC_H_
