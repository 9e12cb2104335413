#include "cordon/sdk/profile_json.h"

#include <sys/stat.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cordon/sdk/status.h"
#include "scratch_folder.h"
#include "support/catch.h"

namespace cordon {
namespace {

using nlohmann::json;
using test::ScratchFolder;

ProfileConfig Parsed(std::string_view text) {
  const absl::StatusOr<ProfileConfig> config = ParseProfileJson(text, "p.json");
  INFO(text);
  INFO(std::string(config.status().message()));
  REQUIRE(config.ok());
  return *config;
}

std::string Refusal(std::string_view text) {
  const absl::Status status = ParseProfileJson(text, "p.json").status();
  INFO(text);
  CHECK(Is(status, ErrorCode::kInvalidProfile));
  return std::string(status.message());
}

// Refused at the place, LINE:COLUMN or `LINE:`, for a reason that has `what` in it.
void CheckRefusedAt(std::string_view text, std::string_view place, std::string_view what) {
  const std::string message = Refusal(text);
  INFO(text << "\n" << message << "\nexpected " << place << " and " << what);
  CHECK(message.starts_with("p.json:" + std::string(place) + (place.ends_with(':') ? "" : ": ")));
  CHECK(message.find(what) != std::string::npos);
}

ProfileConfig EveryField() {
  ProfileConfig config;
  config.workspace_root = "/ws \"quoted\" \xC3\xA9";
  config.workspace_read = Access::kAllow;
  config.workspace_write = Access::kGated;
  config.host_read = Access::kGated;
  config.host_write = Access::kAllow;
  config.network = Access::kGated;
  config.command = Access::kAllow;
  config.home = HomeMode::kReal;
  config.home_root = "/home/user";
  config.isolation = Isolation::kUnconfined;
  config.ack_unconfined = UnconfinedAcknowledgement::CommandsRunWithMyFullAuthority();
  config.ack_tracing = TracingAcknowledgement::ProcessesMaySteerEachOther();
  config.ack_nested_namespaces = NestedNamespacesAcknowledgement::CommandsMayReachMoreOfTheKernel();
  config.additional_roots = {{"/a", Access::kAllow, Access::kDeny}, {"/b", Access::kGated}};
  config.deny_read = {"**/*.key", "/x"};
  config.deny_write = {"vendor"};
  config.protect_paths = false;
  config.environment = {"A", "B=1=2"};
  config.network_targets = {"*.example.com:443"};
  config.network_route = NetworkRoute::kEnvironment;
  config.loopback_ports = {1, 65535};
  config.publish_ports = {8080};
  config.unix_sockets = {"/run/x.sock"};
  config.limits.memory_bytes = 1ULL << 40U;
  config.limits.processes = 7;
  config.limits.cpu_time = std::chrono::milliseconds(1500);
  config.limits.file_size_bytes = 9;
  config.audit = AuditMode::kDurable;
  config.required_guarantees.resource_limits = true;
  config.required_guarantees.write_boundary = true;
  return config;
}

TEST_CASE("what is written is read back") {
  for (const ProfileConfig& config : {ProfileConfig{}, EveryField()}) {
    const std::string text = ProfileToJson(config);
    CHECK(Parsed(text) == config);
    CHECK(ProfileToJson(Parsed(text)) == text);
    CHECK(text.ends_with("}\n"));
  }
  CHECK(Parsed("{}") == ProfileConfig{});
}

TEST_CASE("a name that is not UTF-8 does not make writing fail") {
  ProfileConfig config;
  config.workspace_root = "/ws\xFF";
  CHECK(Parsed(ProfileToJson(config)).workspace_root == "/ws\xEF\xBF\xBD");
}

TEST_CASE("the schema knows exactly the members that are written, and $schema") {
  const json schema = json::parse(ProfileJsonSchema());
  const json written = json::parse(ProfileToJson(EveryField()));
  CHECK(schema["additionalProperties"] == false);
  for (const auto& [key, value] : written.items()) {
    INFO(key);
    CHECK(schema["properties"].contains(key));
  }
  CHECK(schema["properties"].size() == written.size() + 1);
  for (const auto& [key, value] : written["limits"].items()) {
    CHECK(schema["properties"]["limits"]["properties"].contains(key));
  }
  json names = json::array();
  for (const std::string_view name : AllGuaranteeNames()) names.push_back(std::string(name));
  CHECK(schema["properties"]["required_guarantees"]["items"]["enum"] == names);
}

TEST_CASE("every member that the schema knows is accepted") {
  const json schema = json::parse(ProfileJsonSchema());
  json object = json::parse(ProfileToJson(ProfileConfig{}));
  object["$schema"] = "./profile.schema.json";
  for (const auto& [key, value] : schema["properties"].items()) CHECK(object.contains(key));
  CHECK(Parsed(object.dump()) == ProfileConfig{});
}

TEST_CASE("comments and a byte order mark are allowed") {
  const ProfileConfig config = Parsed(
      "\xEF\xBB\xBF// first\n/* { \"x\": */ {\n  // \"y\"\n  \"network\": /* here */ \"gated\" // "
      "there\n} // last");
  CHECK(config.network == Access::kGated);
  CheckRefusedAt("// one\n/* \"a\": [ \n */ {\n  \"netwrk\": \"deny\"}", "4:3", "\"network\"");
}

TEST_CASE("an unknown key is refused where it stands, with the nearest one") {
  CheckRefusedAt("{\n  \"workspace_wriet\": \"allow\"\n}", "2:3", "\"workspace_write\"");
  CheckRefusedAt("{\"network\": \"deny\",\n \"Command\": \"deny\"}", "2:2", "\"command\"");
  CheckRefusedAt("{\"limits\": {\"memory\": 1}}", "1:13", "\"memory_bytes\"");
  CheckRefusedAt("{\"additional_roots\": [{\"path\": \"/a\",\n\"raed\": \"allow\"}]}", "2:1",
                 "\"read\"");
  // It goes before other faults.
  CheckRefusedAt("{\"network\": 1,\n\"netwrk\": 2}", "2:1", "unknown key \"netwrk\"");
  CheckRefusedAt("{\"\": 1}", "1:2", "unknown key \"\"");
}

TEST_CASE("a repeated key is refused at its second place") {
  CheckRefusedAt("{\n\"network\": \"deny\",\n\"command\": \"deny\",\n  \"network\": \"allow\"}",
                 "4:3", "\"network\" is given twice, first in line 2");
  CheckRefusedAt("{\"limits\": {\"processes\": 1, \"processes\": 1}}", "1:29", "twice");
  CheckRefusedAt("{\"network\": \"deny\", \"net\\u0077ork\": \"allow\"}", "1:21", "twice");
}

TEST_CASE("wrong types and values are refused with key and line") {
  CheckRefusedAt("{\n\"network\": \"alow\"}", "2:1",
                 "\"network\" must be one of \"deny\", \"gated\", \"allow\", not \"alow\"");
  CheckRefusedAt("{\"network\": [true]}", "1:2", "\"network\" must be a string, not a list");
  CheckRefusedAt("{\"network\": null}", "1:2", "not null");
  CheckRefusedAt("{\"network\": \"Allow\"}", "1:2", "must be one of");
  CheckRefusedAt("{\"home\": \"hidden\"}", "1:2", "\"isolated\", \"real\"");
  CheckRefusedAt("{\"isolation\": true}", "1:2", "not a boolean");
  CheckRefusedAt("{\"ack_unconfined\": \"true\"}", "1:2", "must be a boolean");
  CheckRefusedAt("{\"ack_tracing\": 1}", "1:2", "must be a boolean");
  CheckRefusedAt("{\"ack_nested_namespaces\": \"yes\"}", "1:2", "must be a boolean");
  CheckRefusedAt("{\"protect_paths\": 0}", "1:2", "must be a boolean, not a whole number");
  CheckRefusedAt("{\"deny_read\": \"x\"}", "1:2", "must be a list");
  CheckRefusedAt("{\"deny_read\": [\"x\",\n 3]}", "2:2", "\"deny_read\" must hold only a string");
  CheckRefusedAt("{\"deny_read\": [\n\"[z-a]\"]}", "2:1", "reversed");
  CheckRefusedAt("{\"deny_write\": [\"\"]}", "1:17", "empty");
  CheckRefusedAt("{\"network_targets\": [\"a.example:443\",\n\"a.example\"]}", "2:1", "port");
  CheckRefusedAt("{\"environment\": [\"A B=1\"]}", "1:18", "no name of a variable");
  CheckRefusedAt("{\"loopback_ports\": [0]}", "1:21", "1 to 65535");
  CheckRefusedAt("{\"publish_ports\": [65536]}", "1:20", "1 to 65535");
  CheckRefusedAt("{\"publish_ports\": [-1]}", "1:20", "must hold only a whole number");
  CheckRefusedAt("{\"publish_ports\": [1.5]}", "1:20", "must hold only a whole number");
  CheckRefusedAt("{\"unix_sockets\": [\"x.sock\"]}", "1:19", "absolute");
  CheckRefusedAt("{\"limits\": []}", "1:2", "must be an object");
  CheckRefusedAt("{\"limits\": {\"processes\": 0}}", "1:13", "whole number above 0");
  CheckRefusedAt("{\"limits\": {\"cpu_time_ms\": \"30s\"}}", "1:13", "whole number above 0");
  CheckRefusedAt("{\"limits\": {\"processes\": 1e3}}", "1:13", "whole number above 0");
  CheckRefusedAt("{\"limits\": {\"processes\": 99999999999999999999}}", "1:13", "whole number");
  CheckRefusedAt("{\"required_guarantees\": [\"everything\"]}", "1:26", "no guarantee");
  CheckRefusedAt("{\"additional_roots\": [[]]}", "1:23", "must hold only an object");
  CheckRefusedAt("{\"additional_roots\": [\n{\"read\": \"allow\"}]}", "2:1", "\"path\" is missing");
  CheckRefusedAt("{\"additional_roots\": [{\"path\": \"/a\", \"write\": \"x\"}]}", "1:38",
                 "\"write\" must be one of");
  CheckRefusedAt("{\"version\": 2}", "1:1", "\"version\" 2");
  CheckRefusedAt("{\"workspace_root\": \"a\\u0000b\"}", "1:20", "NUL");
}

TEST_CASE("what is no JSON is refused with the line") {
  CheckRefusedAt("{\n  \"network\" \"deny\"\n}", "2:", "syntax error");
  CheckRefusedAt("", "1:1", "");
  CheckRefusedAt("{\"network\": \"deny\"", "1:", "end of input");
  CheckRefusedAt("{\"network\": \"deny\",}", "1:20", "");
  CheckRefusedAt("{'network': 'deny'}", "1:2", "");
  CheckRefusedAt("{} {}", "1:4", "");
  CheckRefusedAt("[]", "1:1", "a profile is an object, not a list");
  CheckRefusedAt("  3", "1:3", "not a whole number");
  CheckRefusedAt("{\"network\": NaN}", "1:", "");
  CheckRefusedAt("{\"a\": \"\\ud800\"}", "1:", "");
}

TEST_CASE("bytes that are no text are refused") {
  CheckRefusedAt("\xFF\xFE{}", "1:1", "UTF-8");
  CheckRefusedAt("{\n\"workspace_root\": \"\xC0\x80\"}", "2:20", "UTF-8");
  CheckRefusedAt("// \xED\xA0\x80\n{}", "1:4", "UTF-8");
  CheckRefusedAt(std::string_view("{}\0{", 4), "1:3", "NUL");
}

TEST_CASE("deep and long texts are refused without harm") {
  std::string deep;
  for (int i = 0; i < 200000; ++i) deep += "[";
  CheckRefusedAt(deep, "1:9", "nested too deeply");
  CheckRefusedAt(std::string((1U << 20U) + 1, ' '), "1:1", "1 MiB");
  CHECK(Parsed("{}" + std::string(1U << 19U, '\n')) == ProfileConfig{});
}

TEST_CASE("errors about profiles escape what they quote") {
  const std::string message = Refusal("{\"\\u001b[31m\": 1}");
  CHECK(message.find('\x1b') == std::string::npos);
}

TEST_CASE("a file is read, and what is no readable regular file is refused with its name") {
  const ScratchFolder folder;
  const std::string good = folder.MakeFile("good.json", ProfileToJson(EveryField()));
  const absl::StatusOr<ProfileConfig> config = LoadProfileFile(good);
  REQUIRE(config.ok());
  CHECK(*config == EveryField());

  const std::string bad = folder.MakeFile("bad.json", "{\n\"x\": 1}");
  CHECK(std::string(LoadProfileFile(bad).status().message()).starts_with(bad + ":2:1: "));
  const std::string pipe = folder / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  for (const std::string& path : {folder / "missing", folder.path(), pipe, std::string("/dev/null"),
                                  folder.MakeFile("big", std::string((1U << 20U) + 1, ' '))}) {
    const absl::Status status = LoadProfileFile(path).status();
    INFO(path);
    CHECK(Is(status, ErrorCode::kInvalidProfile));
    CHECK(std::string(status.message()).find(path) != std::string::npos);
  }
}

}  // namespace
}  // namespace cordon
