#include "arguments.h"

#include <string>
#include <string_view>

#include "cordon/sdk/status.h"
#include "nlohmann/json.hpp"
#include "support/catch.h"

namespace cordon::internal {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kMax{600000};

absl::StatusOr<BashArguments> Parse(std::string_view text) {
  return ParseBashArguments(text, kMax);
}

std::string RefusalOf(std::string_view text) {
  const auto arguments = Parse(text);
  CHECK(Is(arguments.status(), ErrorCode::kInvalidArguments));
  return std::string(arguments.status().message());
}

TEST_CASE("A command alone is enough") {
  const auto arguments = Parse(R"({"command": "make test"})");
  REQUIRE(arguments.ok());
  CHECK(arguments->command == "make test");
  CHECK_FALSE(arguments->workdir.has_value());
  CHECK_FALSE(arguments->timeout.has_value());
  CHECK(arguments->description.empty());
  CHECK(arguments->access.empty());
}

TEST_CASE("Every member is read") {
  const auto arguments = Parse(R"({
    "command": "curl https://example.com > /srv/out/page",
    "workdir": "src", "timeout_ms": 1500, "description": "fetches a page",
    "access": [{"kind": "network", "target": "example.com:443"},
               {"kind": "filesystem.write", "path": "/srv/out", "tree": true},
               {"kind": "filesystem.read", "path": "../notes", "tree": false},
               {"kind": "filesystem.read", "path": "/etc/motd"}]})");
  REQUIRE(arguments.ok());
  CHECK(arguments->workdir == "src");
  CHECK(arguments->timeout == milliseconds(1500));
  CHECK(arguments->description == "fetches a page");
  REQUIRE(arguments->access.size() == 4);
  CHECK(arguments->access[0] == DeclaredAccess(NetworkTarget{"example.com", 443, false}));
  CHECK(arguments->access[1] == DeclaredAccess(DeclaredPath{CapabilityKind::kFilesystemWrite,
                                                            PathShape::kTree, "/srv/out"}));
  CHECK(arguments->access[2] == DeclaredAccess(DeclaredPath{CapabilityKind::kFilesystemRead,
                                                            PathShape::kExact, "../notes"}));
  CHECK(arguments->access[3] == DeclaredAccess(DeclaredPath{CapabilityKind::kFilesystemRead,
                                                            PathShape::kExact, "/etc/motd"}));
}

TEST_CASE("A command is taken to the letter") {
  const auto arguments = Parse(R"({"command": "  echo \"a\\b\"\n\techo é\u0007  "})");
  REQUIRE(arguments.ok());
  CHECK(arguments->command == "  echo \"a\\b\"\n\techo é\a  ");
}

TEST_CASE("An unknown member names the nearest known one") {
  struct Case {
    std::string_view text;
    std::string_view unknown;
    std::string_view nearest;
  };
  for (const Case& c : {
           Case{R"({"cmd": "x"})", "cmd", "command"},
           Case{R"({"command": "x", "timeout": 5})", "timeout", "timeout_ms"},
           Case{R"({"command": "x", "timeoutMs": 5})", "timeoutMs", "timeout_ms"},
           Case{R"({"command": "x", "cwd": "/"})", "cwd", "workdir"},
           Case{R"({"command": "x", "Command": "y"})", "Command", "command"},
           Case{R"({"command": "x", "work_dir": "/"})", "work_dir", "workdir"},
           Case{R"({"command": "x", "descripton": "y"})", "descripton", "description"},
       }) {
    const std::string message = RefusalOf(c.text);
    INFO(message);
    CHECK(message.find("unknown member \"" + std::string(c.unknown) + "\"") != std::string::npos);
    CHECK(message.find("the nearest is \"" + std::string(c.nearest) + "\"") != std::string::npos);
  }
}

TEST_CASE("A switch that would leave the sandbox does not exist") {
  for (const std::string_view member :
       {"sandbox", "unsandboxed", "dangerouslyDisableSandbox", "with_escalated_permissions"}) {
    const std::string text = R"({"command": "x", ")" + std::string(member) + R"(": true})";
    CHECK(RefusalOf(text).find("unknown member") != std::string::npos);
  }
}

TEST_CASE("Malformed members are refused by name") {
  struct Case {
    std::string_view text;
    std::string_view says;
  };
  for (const Case& c : {
           Case{"[]", "not an object"},
           Case{"{}", "\"command\" is missing"},
           Case{R"({"command": 5})", "\"command\" must be a string, not number"},
           Case{R"({"command": null})", "\"command\" must be a string, not null"},
           Case{R"({"command": ["ls"]})", "\"command\" must be a string, not array"},
           Case{R"({"command": ""})", "\"command\" is empty"},
           Case{R"({"command": " \n\t"})", "\"command\" is only white space"},
           Case{R"({"command": "a\u0000b"})", "NUL"},
           Case{R"({"command": "x", "command": "y"})", "appears twice"},
           Case{R"({"command": "x", "workdir": 1})", "\"workdir\" must be a string"},
           Case{R"({"command": "x", "workdir": ""})", "\"workdir\" is empty"},
           Case{R"({"command": "x", "workdir": "a\u0000"})", "NUL"},
           Case{R"({"command": "x", "description": {}})", "\"description\" must be a string"},
           Case{R"({"command": "x", "access": {}})", "\"access\" must be an array"},
           Case{R"({"command": "x", "access": ["network"]})", "access[0]: must be an object"},
           Case{R"({"command": "x", "access": [{}]})", "access[0]: \"kind\" is missing"},
       }) {
    const std::string message = RefusalOf(c.text);
    INFO(c.text << " gave " << message);
    CHECK(message.find(c.says) != std::string::npos);
  }
}

TEST_CASE("A time limit lies between one millisecond and the maximum") {
  for (const std::string_view good : {"1", "1000", "600000"}) {
    CHECK(Parse(R"({"command": "x", "timeout_ms": )" + std::string(good) + "}").ok());
  }
  for (const std::string_view bad :
       {"0", "-1", "600001", "9223372036854775808", "18446744073709551615"}) {
    const std::string message =
        RefusalOf(R"({"command": "x", "timeout_ms": )" + std::string(bad) + "}");
    INFO(message);
    CHECK(message.find("between 1 and 600000") != std::string::npos);
  }
  for (const std::string_view bad :
       {"1.5", "1e3", "1000.0", "99999999999999999999999", "true", "\"1000\"", "null"}) {
    const std::string message =
        RefusalOf(R"({"command": "x", "timeout_ms": )" + std::string(bad) + "}");
    INFO(message);
    CHECK(message.find("whole number of milliseconds") != std::string::npos);
  }
}

TEST_CASE(
    "A command longer than the system passes is refused and the longest possible one is not") {
  const std::string longest(kMaxCommandBytes, 'x');
  CHECK(Parse(R"({"command": ")" + longest + "\"}").ok());
  CHECK(RefusalOf(R"({"command": "x)" + longest + "\"}").find("write the long part to a file") !=
        std::string::npos);
}

TEST_CASE("Arguments beyond all measure are refused unread") {
  const std::string text =
      R"({"command": "x", "description": ")" + std::string(kMaxArgumentsBytes, 'x');
  CHECK(RefusalOf(text).find("at most") != std::string::npos);
}

TEST_CASE("A description has a bound that a person can read") {
  const std::string longest(kMaxDescriptionBytes, 'd');
  CHECK(Parse(R"({"command": "x", "description": ")" + longest + "\"}").ok());
  RefusalOf(R"({"command": "x", "description": "d)" + longest + "\"}");
}

TEST_CASE("Malformed access is refused with its place in the list") {
  struct Case {
    std::string_view entry;
    std::string_view says;
  };
  for (const Case& c : {
           Case{R"({"kind": "net", "target": "x:1"})",
                R"(unknown kind "net"; the nearest is "network")"},
           Case{R"({"kind": "filesystem.wirte", "path": "/x"})",
                R"(nearest is "filesystem.write")"},
           Case{R"({"kind": "command.execute"})", "unknown kind"},
           Case{R"({"kind": "network"})", "\"target\" is missing"},
           Case{R"({"kind": "network", "target": 443})", "\"target\" must be a string"},
           Case{R"({"kind": "network", "target": "example.com"})", "HOST:PORT"},
           Case{R"({"kind": "network", "target": "example.com:0"})", "HOST:PORT"},
           Case{R"({"kind": "network", "target": "example.com:*"})", "one host and one port"},
           Case{R"({"kind": "network", "target": "*.example.com:443"})", "one host and one port"},
           Case{R"({"kind": "network", "target": "*:443"})", "one host and one port"},
           Case{R"({"kind": "network", "target": "x:1", "path": "/x"})", "unknown member \"path\""},
           Case{R"({"kind": "filesystem.read"})", "\"path\" is missing"},
           Case{R"({"kind": "filesystem.read", "path": ""})", "\"path\" is empty"},
           Case{R"({"kind": "filesystem.read", "path": "/x", "tree": 1})", "\"tree\" must be true"},
           Case{R"({"kind": "filesystem.read", "path": "/x", "recursive": true})",
                "unknown member"},
           Case{R"({"kind": "filesystem.read", "path": "/x", "target": "a:1"})", "unknown member"},
       }) {
    const std::string message =
        RefusalOf(R"({"command": "x", "access": [{"kind": "filesystem.read", "path": "/ok"}, )" +
                  std::string(c.entry) + "]}");
    INFO(c.entry << " gave " << message);
    CHECK(message.find("access[1]: ") != std::string::npos);
    CHECK(message.find(c.says) != std::string::npos);
  }
}

TEST_CASE("Access is neither repeated nor endless") {
  CHECK(RefusalOf(R"({"command": "x", "access": [{"kind": "network", "target": "Example.com:443"},
                      {"kind": "network", "target": "example.com.:443"}]})")
            .find("repeats an earlier entry") != std::string::npos);
  nlohmann::json call = {{"command", "x"}, {"access", nlohmann::json::array()}};
  for (std::size_t i = 0; i < kMaxDeclaredAccess; ++i) {
    call["access"].push_back({{"kind", "filesystem.read"}, {"path", "/p" + std::to_string(i)}});
  }
  CHECK(Parse(call.dump()).ok());
  call["access"].push_back({{"kind", "filesystem.read"}, {"path", "/one-more"}});
  CHECK(RefusalOf(call.dump()).find("at most 16") != std::string::npos);
}

TEST_CASE("Background is a flag that is off by default") {
  CHECK_FALSE(Parse(R"({"command": "x"})")->background);
  CHECK(Parse(R"({"command": "x", "background": true})")->background);
  CHECK(RefusalOf(R"({"command": "x", "background": 1})").find("true or false") !=
        std::string::npos);
}

TEST_CASE("The schema is JSON and knows exactly the members that are accepted") {
  const auto schema =
      nlohmann::json::parse(BashArgumentsSchema(milliseconds(120000), milliseconds(600000), true));
  CHECK(schema["additionalProperties"] == false);
  CHECK(schema["required"] == nlohmann::json::array({"command"}));
  CHECK(schema["properties"]["timeout_ms"]["maximum"] == 600000);
  CHECK(schema["properties"]["timeout_ms"]["default"] == 120000);
  CHECK(schema["properties"].size() == 6);
  const auto without_jobs =
      nlohmann::json::parse(BashArgumentsSchema(milliseconds(120000), milliseconds(600000), false));
  CHECK_FALSE(without_jobs["properties"].contains("background"));
  for (const auto& [name, property] : schema["properties"].items()) {
    const std::string text = R"({"command": "x", ")" + name + R"(": []})";
    CHECK(std::string(Parse(text).status().message()).find("unknown member") == std::string::npos);
  }
}

}  // namespace
}  // namespace cordon::internal
