#include "redirections.h"

#include <filesystem>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gate_bench.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

namespace fs = std::filesystem;

// `w` is the workspace, `gated` is gated, `closed` denied, all in one folder below /tmp.
class RedirectionBench {
 public:
  RedirectionBench() {
    for (const char* name : {"w", "w/sub", "gated", "closed"}) fs::create_directory(Path(name));
    folder_.Write("gated/in", "");
    ProfileConfig config;
    config.workspace_root = Path("w");
    config.workspace_read = Access::kAllow;
    config.workspace_write = Access::kAllow;
    config.host_read = Access::kGated;
    config.host_write = Access::kGated;
    config.additional_roots = {{Path("gated"), Access::kGated, Access::kGated},
                               {Path("closed"), Access::kDeny, Access::kDeny}};
    config.command = Access::kAllow;
    profile = Profile::Create(config).value();
  }

  [[nodiscard]] std::string Path(const std::string& name) const { return folder_.Path(name); }

  // Each file as "write allow w/out"; `@` in the text stands for the folder.
  [[nodiscard]] std::vector<std::string> Files(std::string text) const {
    for (std::size_t at = text.find('@'); at != std::string::npos; at = text.find('@')) {
      text.replace(at, 1, folder_.Path());
    }
    std::vector<std::string> lines;
    const auto files = FilesOfRedirections(Command::Shell(text, Path("w")), profile).value();
    for (const RedirectedFile& file : files) {
      const bool writes = file.kind == CapabilityKind::kFilesystemWrite;
      const bool ours = file.path.starts_with(folder_.Path());
      lines.push_back(std::string(writes ? "write " : "read ") +
                      std::string(AccessName(file.access)) + " " +
                      (ours ? file.path.substr(folder_.Path().size() + 1) : file.path) +
                      (file.shape == PathShape::kTree ? "/**" : ""));
    }
    return lines;
  }

  Profile profile;

 private:
  TemporaryFolder folder_;
};

using Lines = std::vector<std::string>;

TEST_CASE("a redirection of each kind is a need for the file that it opens") {
  const RedirectionBench bench;
  CHECK(bench.Files("ls > out") == Lines{"write allow w/out"});
  CHECK(bench.Files("ls >> out") == Lines{"write allow w/out"});
  CHECK(bench.Files("ls 2> out") == Lines{"write allow w/out"});
  CHECK(bench.Files("wc < out") == Lines{"read allow w/out"});
  CHECK(bench.Files("> 'a b'") == Lines{"write allow w/a b"});
  CHECK(bench.Files("ls 2>&1").empty());
  CHECK(bench.Files("ls < a > b && ls >> b | cat 2> c") ==
        Lines{"read allow w/a", "write allow w/b", "write allow w/c"});
}

TEST_CASE("the file of a redirection is found from where the command starts, through links") {
  const RedirectionBench bench;
  fs::create_symlink(bench.Path("gated"), bench.Path("w/link"));
  CHECK(bench.Files("ls > ./sub/../out") == Lines{"write allow w/out"});
  for (const char* name : {"link/in", "../gated/in", "@/gated/in"}) {
    CHECK(bench.Files("wc < " + std::string(name)) == Lines{"read gated gated/in"});
  }
  CHECK(bench.Files("wc < @/closed/in") == Lines{"read deny closed/in"});
}

TEST_CASE("what is written where reading is gated has to be read as well") {
  const RedirectionBench bench;
  CHECK(bench.Files("ls > @/gated/in") == Lines{"write gated gated/in", "read gated gated/in"});
  CHECK(bench.Files("ls > /etc/passwd") == Lines{"write gated /etc/passwd"});
}

TEST_CASE("a gated file that is not there needs the folder that would hold it") {
  const RedirectionBench bench;
  CHECK(bench.Files("ls > @/gated/x") == Lines{"write gated gated/**", "read gated gated/**"});
  CHECK(bench.Files("ls > @/gated/no/x").empty());
  CHECK(bench.Files("wc < @/gated/x").empty());
  CHECK(bench.Files("ls > /there-is-no-such-file").empty());
  CHECK(bench.Files("ls > x") == Lines{"write allow w/x"});
}

TEST_CASE("what is only known when it runs is no need") {
  const RedirectionBench bench;
  for (const char* text : {"ls > $x", "ls > ~/x", "ls > *.c", "cd sub && ls > out",
                           "(cd sub) ; ls > out", "command cd sub; ls > out", "$x; ls > out"}) {
    CAPTURE(text);
    CHECK(bench.Files(text).empty());
  }
  // Absolute names mean the same after `cd`.
  CHECK(bench.Files("cd sub && ls > @/w/out") == Lines{"write allow w/out"});
  CHECK(bench.Files("ls > \"$(id)\"").empty());
}

TEST_CASE("the command's own places are no needs, unless the profile names something there") {
  const RedirectionBench bench;
  for (const char* text : {"ls > /dev/null", "ls 2> /dev/stderr", "ls > /tmp/own-x",
                           "ls > /dev/shm/x", "ls > /proc/self/comm"}) {
    CAPTURE(text);
    CHECK(bench.Files(text).empty());
  }
  CHECK(bench.Files("ls > @/w/x") == Lines{"write allow w/x"});
}

TEST_CASE("more files than can be decided about are refused") {
  const RedirectionBench bench;
  std::string text = "ls";
  for (std::size_t i = 0; i < kMaxRedirectedFiles; ++i) text += " >f" + std::to_string(i);
  const auto files = [&](const std::string& shell) {
    return FilesOfRedirections(Command::Shell(shell, bench.Path("w")), bench.profile);
  };
  CHECK(files(text)->size() == kMaxRedirectedFiles);
  CHECK(Is(files(text + " >more").status(), ErrorCode::kInvalidRequest));
}

TEST_CASE("a gated redirection is asked about with the command and granted") {
  GateBench bench({Yes()}, Access::kAllow);  // Writing in the workspace is gated.
  bench.folder.Write("out", "");
  const Request request = bench.RequestOf("echo x > out");
  const std::vector<Grant> grants = bench.AdmitAndMint(request).value();
  REQUIRE(bench.questions() == 1);
  const ApprovalCard card = bench.approver->cards()[0];
  REQUIRE(card.pending.size() == 1);
  CHECK(card.pending[0].match == bench.folder.Path("out"));
  const auto redemption = bench.authority->Verify(grants, *request.binding).value();
  REQUIRE(redemption->subjects().size() == 1);
  CHECK(redemption->subjects()[0].grant_class == GrantClass::kFilesystemPathWrite);
  CHECK(bench.log.Has("out"));
}

TEST_CASE("a gated redirection that nobody approves stops the command") {
  GateBench bench({No()}, Access::kAllow);
  CHECK(Is(bench.gate().Admit(bench.RequestOf("echo x > out"), {}).status(),
           ErrorCode::kRefusedByPerson));
  CHECK(bench.AdmitAndMint(bench.RequestOf("echo x")).value().empty());
}

TEST_CASE("a redirection that a declared need covers is asked about once") {
  GateBench bench({Yes()}, Access::kAllow);
  bench.folder.Write("out", "");
  const Requirement tree =
      RequirePath(CapabilityKind::kFilesystemWrite, PathShape::kTree, bench.folder.Path()).value();
  const Requirement file =
      RequirePath(CapabilityKind::kFilesystemWrite, PathShape::kExact, bench.folder.Path("out"))
          .value();
  for (const Requirement& declared : {tree, file}) {
    const Request request = bench.RequestOf("echo x > out", {declared});
    const Request complete = WithRedirections(request, bench.options.profile).value();
    CHECK(std::get<std::vector<Requirement>>(complete.authority).size() == 2);
  }
}

TEST_CASE("a stored denial of a path holds for a redirection where the profile allows") {
  GateBench bench({}, Access::kAllow);
  const auto deny = [&bench](const std::string& name) {
    return MakeRule(RuleEffect::kDeny, RuleMatch::kPath, bench.folder.Path(name)).value();
  };
  CHECK(bench.AdmitAndMint(bench.RequestOf("wc < notes")).ok());
  REQUIRE(bench.options.rules->Add({deny("notes")}, false).ok());
  const absl::Status status = bench.gate().Admit(bench.RequestOf("wc < notes"), {}).status();
  CHECK(Is(status, ErrorCode::kDeniedByRule));
  CHECK(Mentions(status, "notes"));
  CHECK(bench.AdmitAndMint(bench.RequestOf("wc < other")).ok());
}

TEST_CASE("what the profile denies is left to fail by itself, and said beforehand") {
  GateBench bench({}, Access::kAllow);
  const Request request = bench.RequestOf("echo x > /usr/share/x");
  CHECK(bench.AdmitAndMint(request).ok());
  const Forecast forecast = bench.gate().Explain(request).value();
  CHECK(forecast.access == Access::kAllow);
  REQUIRE(forecast.reasons.size() == 2);
  CHECK(forecast.reasons[1].find("cannot write /usr/share/x") != std::string::npos);
}

}  // namespace
}  // namespace cordon::internal
