// SHA-256 values that bind grants, profiles and commands to each other. Pure; safe from any thread.

#ifndef CORDON_SDK_DIGEST_H_
#define CORDON_SDK_DIGEST_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace cordon {

using Digest = std::array<std::uint8_t, 32>;

// SHA-256 (FIPS 180-4) of `bytes`.
[[nodiscard]] Digest Sha256(std::string_view bytes);

// 64 lower-case hexadecimal digits.
[[nodiscard]] std::string DigestHex(const Digest& digest);

// Collects fields into one unambiguous byte string: each is preceded by its length, so that no two
// different sequences of fields give the same digest.
class FieldHasher {
 public:
  FieldHasher& Add(std::string_view field);
  FieldHasher& Add(std::uint64_t number);
  [[nodiscard]] Digest Finish() const;

 private:
  std::string bytes_;
};

// A fresh random identifier: 128 bits from getrandom(2) as 32 hexadecimal digits.
[[nodiscard]] std::string RandomId();

}  // namespace cordon

#endif  // CORDON_SDK_DIGEST_H_
