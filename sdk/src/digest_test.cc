#include "cordon/sdk/digest.h"

#include <set>
#include <string>

#include "support/catch.h"

namespace cordon {
namespace {

using namespace std::string_literals;

TEST_CASE("SHA-256 agrees with the examples of FIPS 180-4") {
  CHECK(DigestHex(Sha256("")) ==
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(DigestHex(Sha256("abc")) ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(DigestHex(Sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")) ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(DigestHex(Sha256(std::string(1000000, 'a'))) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  CHECK(Sha256("a\0b"s) != Sha256("a"));
}

TEST_CASE("A digest is the same however the bytes come") {
  const std::string bytes(1000, 'x');
  for (const std::size_t first : {0, 1, 63, 64, 65, 999, 1000}) {
    Sha256Hasher hasher;
    hasher.Add(bytes.substr(0, first)).Add(bytes.substr(first));
    CHECK(hasher.Finish() == Sha256(bytes));
  }
}

TEST_CASE("Messages are signed as RFC 4231 says") {
  const auto signed_with = [](const std::string& key, const std::string& text) {
    return DigestHex(HmacSha256(key, text));
  };
  CHECK(signed_with(std::string(20, '\x0b'), "Hi There") ==
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(signed_with("Jefe", "what do ya want for nothing?") ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(signed_with(std::string(20, '\xaa'), std::string(50, '\xdd')) ==
        "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
}

TEST_CASE("the boundaries of fields are part of a digest") {
  const auto two = [](std::string_view a, std::string_view b) {
    return FieldHasher().Add(a).Add(b).Finish();
  };
  CHECK(two("ab", "c") == two("ab", "c"));
  CHECK(two("ab", "c") != two("a", "bc"));
  CHECK(two("", "a") != two("a", ""));
  CHECK(two("a", "b") != FieldHasher().Add("ab").Finish());
  CHECK(FieldHasher().Finish() != FieldHasher().Add("").Finish());
  CHECK(FieldHasher().Add("").Finish() != FieldHasher().Add("").Add("").Finish());
}

TEST_CASE("a number is not the text of the same bytes") {
  CHECK(FieldHasher().Add(std::uint64_t{7}).Finish() !=
        FieldHasher().Add("\0\0\0\0\0\0\0\7"s).Finish());
  CHECK(FieldHasher().Add(std::uint64_t{7}).Finish() != FieldHasher().Add("7").Finish());
  CHECK(FieldHasher().Add(std::uint64_t{1}).Finish() !=
        FieldHasher().Add(std::uint64_t{1} << 56).Finish());
}

TEST_CASE("random identifiers are 32 hexadecimal digits and differ") {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string id = RandomId();
    CHECK(id.size() == 32);
    CHECK(id.find_first_not_of("0123456789abcdef") == std::string::npos);
    CHECK(seen.insert(id).second);
  }
}

}  // namespace
}  // namespace cordon
