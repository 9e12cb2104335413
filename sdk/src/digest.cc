#include "cordon/sdk/digest.h"

// Its functions for SHA-256 alone are deprecated in favour of EVP, which starts the whole of
// libcrypto (providers, openssl.cnf) at the first digest: 5 million instructions, two milliseconds.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <sys/random.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <tuple>

namespace cordon {
namespace {

constexpr std::size_t kRandomIdBytes = 16;
constexpr char kHash[] = "SHA-256 of libcrypto";

// Neither a made-up digest nor a guessable identifier may ever stand in for the real one, and no
// caller could go on without it.
[[noreturn]] void Die(const char* what) {
  std::fprintf(stderr, "cordon: %s failed\n", what);
  std::abort();
}

template <std::size_t kSize>
std::string Hex(const std::array<std::uint8_t, kSize>& bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * kSize);
  for (const std::uint8_t byte : bytes) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 0x0f]);
  }
  return text;
}

void AppendNumber(std::string& bytes, std::uint64_t number) {
  for (int shift = 56; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<char>((number >> shift) & 0xff));
  }
}

}  // namespace

struct Sha256Hasher::State {
  SHA256_CTX context;
};

Sha256Hasher::Sha256Hasher() : state_(std::make_unique<State>()) {
  if (SHA256_Init(&state_->context) != 1) Die(kHash);
}

Sha256Hasher::~Sha256Hasher() { OPENSSL_cleanse(state_.get(), sizeof(State)); }

Sha256Hasher& Sha256Hasher::Add(std::string_view bytes) {
  if (SHA256_Update(&state_->context, bytes.data(), bytes.size()) != 1) Die(kHash);
  return *this;
}

Digest Sha256Hasher::Finish() {
  static_assert(std::tuple_size_v<Digest> == SHA256_DIGEST_LENGTH);
  Digest digest;
  if (SHA256_Final(digest.data(), &state_->context) != 1) Die(kHash);
  return digest;
}

Digest Sha256(std::string_view bytes) { return Sha256Hasher().Add(bytes).Finish(); }

Digest HmacSha256(std::string_view key, std::string_view text) {
  if (key.size() > SHA256_CBLOCK) Die("HMAC with a key of more than a block");
  const auto hash = [key](char pad, std::string_view bytes) {
    std::array<char, SHA256_CBLOCK> block;
    block.fill(pad);
    for (std::size_t i = 0; i < key.size(); ++i) block[i] = static_cast<char>(key[i] ^ pad);
    const Digest digest = Sha256Hasher().Add({block.data(), block.size()}).Add(bytes).Finish();
    OPENSSL_cleanse(block.data(), block.size());
    return digest;
  };
  const Digest inner = hash(0x36, text);
  return hash(0x5c, {reinterpret_cast<const char*>(inner.data()), inner.size()});
}

std::string DigestHex(const Digest& digest) { return Hex(digest); }

FieldHasher& FieldHasher::Add(std::string_view field) {
  bytes_.push_back('s');
  AppendNumber(bytes_, field.size());
  bytes_.append(field);
  return *this;
}

FieldHasher& FieldHasher::Add(std::uint64_t number) {
  bytes_.push_back('n');
  AppendNumber(bytes_, number);
  return *this;
}

Digest FieldHasher::Finish() const { return Sha256(bytes_); }

std::string RandomId() {
  std::array<std::uint8_t, kRandomIdBytes> bytes{};
  ssize_t got = 0;
  do {
    // Up to 256 bytes come whole once the pool is initialised, getrandom(2); until then it waits.
    got = getrandom(bytes.data(), bytes.size(), 0);
  } while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(bytes.size())) Die("getrandom");
  return Hex(bytes);
}

}  // namespace cordon
