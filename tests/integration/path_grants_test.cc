// Grants for files: they open one object or tree for one command, and only the object that was
// there when they were issued.

#include <filesystem>
#include <string>
#include <vector>

#include "cordon/sdk/request.h"
#include "cordon/sdk/status.h"
#include "integration/support/cordon_run.h"
#include "integration/support/gated_sandbox.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

namespace fs = std::filesystem;

// Commands are allowed; the folder outside is gated for reading and writing.
class GatedFiles {
 public:
  GatedFiles() : sandbox_([this](ProfileConfig& config) { Gate(config); }) {
    ground().MakeFile(outside() + "/file", "before");
    ground().MakeFile(outside() + "/sibling", "sibling");
    ground().MakeFile(outside() + "/tree/leaf", "leaf");
  }

  [[nodiscard]] const Ground& ground() const { return sandbox_.ground(); }
  [[nodiscard]] const std::string& outside() const { return ground().outside(); }

  Requirement Require(CapabilityKind kind, PathShape shape, const std::string& name) const {
    auto requirement = RequirePath(kind, shape, outside() + "/" + name);
    INFO(requirement.status());
    REQUIRE(requirement.ok());
    return *requirement;
  }

  Grant Issue(const std::string& text, const std::string& id, const Requirement& requirement) {
    const auto grant = sandbox_.executor().grant_authority()->Issue(
        sandbox_.executor().BindingFor(InOutside(text), id), requirement.subject,
        GrantAuthority::kDefaultTtl);
    INFO(grant.status());
    REQUIRE(grant.ok());
    return *grant;
  }

  absl::StatusOr<RunResult> Run(const std::string& text, const std::string& id,
                                std::vector<Grant> grants = {}) {
    return sandbox_.Run(InOutside(text), id, std::move(grants));
  }

  // What the command printed, or the code of the error.
  std::string Output(const std::string& text, const std::string& id,
                     std::vector<Grant> grants = {}) {
    const auto run = Run(text, id, std::move(grants));
    return run.ok() ? run->standard_output.head : CodeOf(run.status());
  }

 private:
  static std::string OutsideOf(const ProfileConfig& config) {
    return fs::path(config.workspace_root).parent_path() / "outside";
  }
  void Gate(ProfileConfig& config) const {
    config.command = Access::kAllow;
    config.additional_roots.push_back({OutsideOf(config), Access::kGated, Access::kGated});
  }
  [[nodiscard]] Command InOutside(const std::string& text) const {
    return Command::Shell("o=" + outside() + "\n" + text, ground().workspace());
  }

  GatedSandbox sandbox_;
};

TEST_CASE("a gated file is read with a grant for it and not without") {
  GatedFiles files;
  const std::string look = "cat $o/file || echo refused; cat $o/sibling || echo refused";
  CHECK(files.Output(look, "e1") == "refused\nrefused\n");
  const Requirement one = files.Require(CapabilityKind::kFilesystemRead, PathShape::kExact, "file");
  CHECK(files.Output(look, "e2", {files.Issue(look, "e2", one)}) == "beforerefused\n");
  // An empty file of the executor's own /tmp may have taken the place where it was shown.
  CHECK_FALSE(Has(files.Output(look, "e3"), "before"));
}

TEST_CASE("a grant to read a file does not let it be written") {
  GatedFiles files;
  const std::string act = "echo after >$o/file || echo refused";
  const Requirement read =
      files.Require(CapabilityKind::kFilesystemRead, PathShape::kExact, "file");
  CHECK(files.Output(act, "e1", {files.Issue(act, "e1", read)}) == "refused\n");
  CHECK(files.ground().Read(files.outside() + "/file") == "before");
}

TEST_CASE("a gated tree is written with a grant for it and nothing beside it") {
  GatedFiles files;
  const std::string act =
      "echo new >$o/tree/new && echo made; cat $o/tree/leaf $o/sibling; echo new >$o/new; exit 0";
  const Requirement read = files.Require(CapabilityKind::kFilesystemRead, PathShape::kTree, "tree");
  const Requirement write =
      files.Require(CapabilityKind::kFilesystemWrite, PathShape::kTree, "tree");
  CHECK(files.Output(act, "e1", {files.Issue(act, "e1", read), files.Issue(act, "e1", write)}) ==
        "made\nleaf");
  CHECK(files.ground().Read(files.outside() + "/tree/new") == "new\n");
  CHECK_FALSE(files.ground().Exists(files.outside() + "/new"));
}

TEST_CASE("a target that is another object now is refused and nothing is spent or started") {
  GatedFiles files;
  const std::string file = files.outside() + "/file";
  files.ground().MakeFile(files.ground().root() + "/secret", "CONFIDENTIAL");
  const std::string act = "cat $o/file; echo ran >" + files.ground().PathOf("ran");
  const Requirement read =
      files.Require(CapabilityKind::kFilesystemRead, PathShape::kExact, "file");
  const auto code_after = [&](const std::string& id, const std::string& change) {
    const Grant grant = files.Issue(act, id, read);
    files.ground().RunUnconfined("cd " + files.outside() + " && " + change);
    return CodeOf(files.Run(act, id, {grant}).status());
  };
  CHECK(code_after("e1", "rm file && ln -s ../secret file") == "target_changed");
  CHECK(code_after("e2", "rm file && mkdir file") == "target_changed");
  CHECK(code_after("e3", "rmdir file") == "target_changed");
  CHECK(code_after("e4", "echo another >new && mv new file") == "target_changed");
  CHECK_FALSE(files.ground().Exists("ran"));
}

TEST_CASE("an ancestor that was swapped for a link is noticed") {
  GatedFiles files;
  const std::string act = "cat $o/tree/leaf";
  const Requirement read =
      files.Require(CapabilityKind::kFilesystemRead, PathShape::kExact, "tree/leaf");
  const Grant grant = files.Issue(act, "e1", read);
  files.ground().RunUnconfined("cd " + files.outside() + " && mv tree real && ln -s real tree");
  CHECK(CodeOf(files.Run(act, "e1", {grant}).status()) == "target_changed");
}

}  // namespace
}  // namespace cordon::test
