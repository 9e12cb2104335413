#include "explanation.h"

#include <filesystem>
#include <string>

#include "support/catch.h"

namespace cordon::internal {
namespace {

// A workspace at /usr/share, which every host has, and a gated folder beside it.
ProfileConfig Config() {
  ProfileConfig config;
  config.workspace_root = "/usr/share";
  config.workspace_read = Access::kAllow;
  config.workspace_write = Access::kAllow;
  config.command = Access::kAllow;
  config.home_root = "/nonexistent/home";
  config.additional_roots = {{"/nonexistent/outbox", Access::kAllow, Access::kGated}};
  return config;
}

Profile MakeProfile(const ProfileConfig& config) {
  absl::StatusOr<Profile> profile = Profile::Create(config);
  REQUIRE(profile.ok());
  return *profile;
}

TEST_CASE("A complaint about a hidden path is explained whatever program wrote it") {
  const Profile profile = MakeProfile(Config());
  const std::string secret = "/nonexistent/home/.ssh/id";
  for (const std::string& complaint :
       {"cat: " + secret + ": Permission denied",
        "cat: '" + secret + "': No such file or directory",
        "/bin/sh: 1: cannot create " + secret + ": Directory nonexistent",
        "bash: line 1: " + secret + ": No such file or directory",
        "PermissionError: [Errno 13] Permission denied: '" + secret + "'",
        "touch: cannot touch '" + secret + "': Read-only file system"}) {
    const std::vector<std::string> sentences = ExplainComplaints(complaint, profile);
    INFO(complaint);
    REQUIRE(sentences.size() == 1);
    CHECK(sentences[0].starts_with(secret + " cannot be read or written here ("));
    CHECK(sentences[0].find("only the person who set up this profile") != std::string::npos);
  }
}

TEST_CASE("A write to what can only be read is explained, reading it is not") {
  ProfileConfig config = Config();
  config.additional_roots.push_back({"/nonexistent/ro", Access::kAllow, Access::kDeny});
  const Profile profile = MakeProfile(config);
  const auto write =
      ExplainComplaints("touch: cannot touch '/nonexistent/ro/x': Permission denied", profile);
  REQUIRE(write.size() == 1);
  CHECK(write[0].find("/nonexistent/ro/x cannot be written here") != std::string::npos);
  CHECK(ExplainComplaints("cat: /nonexistent/ro/x: No such file or directory", profile).empty());
}

TEST_CASE("A gated path comes with the exact words that ask for it") {
  const auto sentences = ExplainComplaints(
      "cp: cannot create '/nonexistent/outbox/x': Permission denied", MakeProfile(Config()));
  REQUIRE(sentences.size() == 1);
  CHECK(sentences[0].find(
            R"("access": [{"kind":"filesystem.write","path":"/nonexistent/outbox/x"}])") !=
        std::string::npos);
}

TEST_CASE("A program that wanted a person is told apart, with what to do instead") {
  const Profile profile = MakeProfile(Config());
  const std::vector<std::pair<std::string_view, std::string_view>> complaints = {
      {"bash: line 1: sudo: command not found", "sudo, su and doas"},
      {"sudo: The \"no new privileges\" flag is set, which prevents sudo", "sudo, su and doas"},
      {"fatal: could not read Username for 'https://example.com': terminal prompts disabled",
       "private repository"},
      {"git@example.com: Permission denied (publickey).", "private repository"},
      {"error: There was a problem with the editor '/bin/false'.", "no editor opens here"},
      {"the input device is not a TTY", "no terminal here"},
      {"EOFError: EOF when reading a line", "end of file"}};
  for (const auto& [complaint, advice] : complaints) {
    const std::vector<std::string> sentences = ExplainComplaints(complaint, profile);
    INFO(complaint);
    REQUIRE(sentences.size() == 1);
    CHECK(sentences[0].find(advice) != std::string::npos);
  }
  CHECK(ExplainComplaints("Please supply the message using -m", profile).empty());
}

TEST_CASE("A complaint about what the profile allows is the command's own affair") {
  const Profile profile = MakeProfile(Config());
  for (const std::string_view complaint :
       {"cat: /usr/share/none: No such file or directory", "sh: 1: nothing: not found",
        "mkdir: cannot create directory '/usr/share/x': Permission denied", "Permission denied",
        ""}) {
    INFO(complaint);
    CHECK(ExplainComplaints(complaint, profile).empty());
  }
}

TEST_CASE("An unreachable network is explained once, and not where the network is allowed") {
  const std::string complaints =
      "curl: (6) Could not resolve host: example.com\n"
      "curl: (7) Failed to connect to 127.0.0.1 port 80: Connection refused\n";
  ProfileConfig config = Config();
  const auto denied = ExplainComplaints(complaints, MakeProfile(config));
  REQUIRE(denied.size() == 1);
  CHECK(denied[0].find("no network") != std::string::npos);

  config.network = Access::kGated;
  const auto gated = ExplainComplaints(complaints, MakeProfile(config));
  REQUIRE(gated.size() == 1);
  CHECK(gated[0].find(R"("kind":"network")") != std::string::npos);

  config.network = Access::kAllow;
  CHECK(ExplainComplaints(complaints, MakeProfile(config)).empty());
}

TEST_CASE("What this run was granted is not explained as withheld") {
  ProfileConfig config = Config();
  config.network = Access::kGated;
  const Profile profile = MakeProfile(config);
  const std::string complaints =
      "cp: cannot create '/nonexistent/outbox/x': Permission denied\n"
      "curl: (7) Failed to connect to example.com port 80: Connection refused\n";
  REQUIRE(ExplainComplaints(complaints, profile).size() == 2);
  CHECK(ExplainComplaints(complaints, profile,
                          {{GrantClass::kFilesystemTreeWrite, "/nonexistent/outbox"},
                           {GrantClass::kNetworkTarget, "tcp:example.com:80"}})
            .empty());
  CHECK(ExplainComplaints(complaints, profile,
                          {{GrantClass::kFilesystemTreeWrite, "/nonexistent/out"}})
            .size() == 2);
  CHECK(ExplainComplaints(complaints, profile, {{GrantClass::kCommandStart, ""}}).size() == 2);
}

TEST_CASE("A flood of complaints gives few sentences, without repeats") {
  std::string flood;
  for (int i = 0; i < 1000; ++i) {
    flood += "cat: /nonexistent/home/" + std::to_string(i % 100) + ": Permission denied\n";
  }
  CHECK(ExplainComplaints(flood, MakeProfile(Config())).size() == 4);
  CHECK(ExplainComplaints("cat: /nonexistent/home/a: Permission denied\n"
                          "cat: /nonexistent/home/a: Permission denied\n",
                          MakeProfile(Config()))
            .size() == 1);
}

TEST_CASE("A path that would deceive a reader is shown escaped") {
  const auto sentences = ExplainComplaints("cat: /nonexistent/\xE2\x80\xAEgpj: Permission denied",
                                           MakeProfile(Config()));
  REQUIRE(sentences.size() == 1);
  CHECK(sentences[0].find("\xE2\x80\xAE") == std::string::npos);
  CHECK(sentences[0].find("\\u202e") != std::string::npos);
}

TEST_CASE("A denial says what the model can do, else what the person can do") {
  ProfileConfig config = Config();
  const Denial network{"network", "tcp:example.com:443", 1, "not granted", "--net example.com:443"};
  CHECK(HowToAllow(network, MakeProfile(config)) ==
        "the person who set up this profile can allow it with --net example.com:443");
  config.network = Access::kGated;
  CHECK(HowToAllow(network, MakeProfile(config))
            .find(R"({"kind":"network","target":"example.com:443"})") != std::string::npos);

  const Denial write{"filesystem.write", "/nonexistent/outbox/x", 1, "gated",
                     "--write /nonexistent/outbox/x"};
  CHECK(HowToAllow(write, MakeProfile(config)).find(R"("filesystem.write")") != std::string::npos);
  const Denial socket{"unix_socket", "/run/x.sock", 1, "not listed", ""};
  CHECK(HowToAllow(socket, MakeProfile(config)).find("only the person") != std::string::npos);
}

}  // namespace
}  // namespace cordon::internal
