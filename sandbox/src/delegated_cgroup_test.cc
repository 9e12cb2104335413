#include "delegated_cgroup.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "sandbox_testing.h"
#include "support/catch.h"

namespace cordon::internal::testing {
namespace {

// Folders with the files that a mount of cgroups has, as far as they are read.
class FakeCgroups {
 public:
  FakeCgroups() { Add(""); }

  void Add(const std::string& cgroup, const std::string& controllers = "cpu memory pids",
           const std::string& processes = "") {
    const std::string path = Path(cgroup);
    std::filesystem::create_directories(path);
    std::ofstream(path + "/cgroup.controllers") << controllers << "\n";
    std::ofstream(path + "/cgroup.procs") << processes;
    std::ofstream(path + "/cgroup.subtree_control").flush();
  }
  void Delegate(const std::string& cgroup) { delegated_.insert(Path(cgroup)); }
  void SetOwn(const std::string& line) { std::ofstream(folder_ / "own") << "1:name=x:/\n" << line; }
  [[nodiscard]] std::string Path(const std::string& cgroup) const {
    return (folder_ / "mount") + cgroup;
  }

  template <typename Act>
  auto With(Act act) const {
    const auto is_delegated = [this](const std::string& path) { return delegated_.contains(path); };
    return act(CgroupPlaces{folder_ / "mount", folder_ / "own", is_delegated});
  }

  [[nodiscard]] absl::StatusOr<std::string> Find(const std::string& named = "") const {
    return With([&](const CgroupPlaces& places) { return FindDelegatedCgroup(named, places); });
  }
  [[nodiscard]] std::string WhyNot(const std::string& named = "") const {
    const absl::StatusOr<std::string> found = Find(named);
    return found.ok() ? "found " + *found : std::string(found.status().message());
  }
  void Leave(bool said_to_be = false) const {
    With([said_to_be](const CgroupPlaces& places) {
      LeaveDelegatedCgroup(said_to_be, places);
      return 0;
    });
  }

 private:
  const TemporaryFolder folder_;
  std::set<std::string> delegated_;
};

bool Says(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("the cgroup above the program's own is used where it is marked as delegated") {
  FakeCgroups cgroups;
  cgroups.Add("/user/a.scope");
  cgroups.Add("/user/a.scope/host", "memory pids", absl::StrCat(getpid(), "\n"));
  cgroups.SetOwn("0::/user/a.scope/host\n");
  CHECK(Says(cgroups.WhyNot(), "was delegated"));
  cgroups.Delegate("/user/a.scope");
  CHECK(cgroups.WhyNot() == "found " + cgroups.Path("/user/a.scope"));
}

TEST_CASE("nothing is made where a service manager manages, or the program itself is") {
  FakeCgroups cgroups;
  cgroups.Add("/user@1.service");
  cgroups.Add("/user@1.service/init.scope");
  cgroups.Add("/user@1.service/a.scope", "memory pids", absl::StrCat(getpid(), "\n"));
  cgroups.SetOwn("0::/user@1.service/a.scope\n");
  cgroups.Delegate("/user@1.service");
  CHECK(Says(cgroups.WhyNot(), "no cgroup above"));
  cgroups.Delegate("/user@1.service/a.scope");
  CHECK(Says(cgroups.WhyNot(), "in it themselves"));
}

TEST_CASE("a named cgroup needs the controllers, and has no processes of its own") {
  FakeCgroups cgroups;
  cgroups.Add("/mine");
  CHECK(cgroups.WhyNot(cgroups.Path("/mine")) == "found " + cgroups.Path("/mine"));
  cgroups.Add("/bare", "cpu pids");
  CHECK(Says(cgroups.WhyNot(cgroups.Path("/bare")), "no memory controller"));
  cgroups.Add("/full", "memory pids", "17\n");
  CHECK(Says(cgroups.WhyNot(cgroups.Path("/full")), "there are processes in"));
  CHECK_FALSE(cgroups.Find(cgroups.Path("/missing")).ok());
  CHECK_FALSE(cgroups.Find("mine").ok());
}

TEST_CASE("a named cgroup is this user's") {
  if (geteuid() == 0) CORDON_SKIP("user", "root may write anywhere");
  FakeCgroups cgroups;
  cgroups.Add("/mine");
  REQUIRE(chmod((cgroups.Path("/mine") + "/cgroup.procs").c_str(), 0444) == 0);
  CHECK(Says(cgroups.WhyNot(cgroups.Path("/mine")), "not this user's"));
}

TEST_CASE("without version 2, or outside of what can be named, there is no cgroup") {
  FakeCgroups cgroups;
  CHECK_FALSE(cgroups.Find().ok());
  cgroups.SetOwn("3:memory:/a\n");
  CHECK(Says(cgroups.WhyNot(), "version 2"));
  cgroups.SetOwn("0::/../other\n");
  CHECK(Says(cgroups.WhyNot(), "version 2"));
}

TEST_CASE("only a program that is alone in a delegated cgroup goes into one below it") {
  FakeCgroups cgroups;
  cgroups.SetOwn("0::/a.scope\n");
  const std::string leaf = cgroups.Path("/a.scope/cordon");
  const std::string alone = absl::StrCat(getpid(), "\n");
  SECTION("alone") {
    cgroups.Add("/a.scope", "memory pids", alone);
    cgroups.Delegate("/a.scope");
    // As the kernel makes it, so that there is something to write to.
    cgroups.Add("/a.scope/cordon");
    cgroups.Leave();
    std::ifstream moved(leaf + "/cgroup.procs");
    std::string text;
    CHECK((moved >> text && text == "0"));
  }
  SECTION("said to be delegated") {
    cgroups.Add("/a.scope", "memory pids", alone);
    CHECK(Says(cgroups.WhyNot("own"), "not alone"));
    cgroups.Add("/a.scope/cordon");
    cgroups.Leave(true);
    std::ifstream moved(leaf + "/cgroup.procs");
    std::string text;
    CHECK((moved >> text && text == "0"));
    cgroups.Add("/a.scope");
    cgroups.SetOwn("0::/a.scope/cordon\n");
    CHECK(cgroups.WhyNot("own") == "found " + cgroups.Path("/a.scope"));
  }
  SECTION("not alone") {
    cgroups.Add("/a.scope", "memory pids", alone + "1\n");
    cgroups.Delegate("/a.scope");
    cgroups.Leave();
    CHECK_FALSE(std::filesystem::exists(leaf));
  }
  SECTION("not delegated") {
    cgroups.Add("/a.scope", "memory pids", alone);
    cgroups.Leave();
    CHECK_FALSE(std::filesystem::exists(leaf));
  }
}

}  // namespace
}  // namespace cordon::internal::testing
