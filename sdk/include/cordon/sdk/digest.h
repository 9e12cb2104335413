// SHA-256 values that bind grants, profiles and commands to each other. Pure; safe from any thread.

#ifndef CORDON_SDK_DIGEST_H_
#define CORDON_SDK_DIGEST_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace cordon {

using Digest = std::array<std::uint8_t, 32>;

// SHA-256 (FIPS 180-4) of `bytes`.
[[nodiscard]] Digest Sha256(std::string_view bytes);

// The same of what comes piece by piece; for one thread at a time.
class Sha256Hasher {
 public:
  Sha256Hasher();
  Sha256Hasher(const Sha256Hasher&) = delete;
  Sha256Hasher& operator=(const Sha256Hasher&) = delete;
  ~Sha256Hasher();  // What was hashed is overwritten.

  Sha256Hasher& Add(std::string_view bytes);
  [[nodiscard]] Digest Finish();  // Once.

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

// HMAC-SHA-256 (RFC 2104) of `text` with `key`, which has at most 64 bytes.
[[nodiscard]] Digest HmacSha256(std::string_view key, std::string_view text);

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
