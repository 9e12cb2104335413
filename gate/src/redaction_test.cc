#include "redaction.h"

#include <string>
#include <utility>

#include "support/catch.h"

namespace cordon::internal {
namespace {

TEST_CASE("what looks like a credential is taken out") {
  const std::string letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  const std::pair<std::string, std::string> cases[] = {
      {"API_TOKEN=abc make", "API_TOKEN=*** make"},
      {"export DB_PASSWORD='a b'; x", "export DB_PASSWORD=***; x"},
      {"X_SECRET=\"a b\" y", "X_SECRET=*** y"},
      {"curl -H 'Authorization: Bearer abc' h", "curl -H 'Authorization: ***' h"},
      {"curl -H \"X-Api-Key: abc\" h", "curl -H \"X-Api-Key: ***\" h"},
      {"mysql --password=abc", "mysql --password=***"},
      {"gh auth --with-token abc", "gh auth --with-token ***"},
      {"git clone https://me:abc@host/x", "git clone https://***@host/x"},
      {"git clone https://abc@host/x.git", "git clone https://***@host/x.git"},
      {"echo ghp_" + letters, "echo ***"},
      {"echo AKIAABCDEFGHIJKLMNOP", "echo ***"},
      {"x sk-" + letters + " y", "x *** y"},
      {"{\"token\": \"abc\", \"a\": 1}", "{\"token\": ***, \"a\": 1}"},
      {"-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
       "***-----END RSA PRIVATE KEY-----"},
      {"MYSQL_PWD=abc mysql", "MYSQL_PWD=*** mysql"},
      {"AWS_SECRET_ACCESS_KEY=a/b+c aws", "AWS_SECRET_ACCESS_KEY=*** aws"},
  };
  for (const auto& [text, expected] : cases) CHECK(Redacted(text) == expected);
}

TEST_CASE("other text stays as it is") {
  for (const std::string text :
       {"git log --author=ada", "CI=1 make", "ls -la", "PWD=/x", "https://host/a@b", "a@b.c",
        "echo token", "grep -rn password src", "make KEY", "cat id_rsa.pub", "sk-short", "",
        "git show 4f5c2d1:src/keys.c", "-----BEGIN CERTIFICATE-----"}) {
    CHECK(Redacted(text) == text);
  }
}

}  // namespace
}  // namespace cordon::internal
