#include "host_journal.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>

#include "cordon/sdk/unique_fd.h"
#include "host_looks.h"
#include "sandbox_testing.h"
#include "support/catch.h"
#include "unix_socket_table.h"

namespace cordon::internal {
namespace {

namespace fs = std::filesystem;

// Until a folder that changes afterwards gets other times than before.
void LetAge() { testing::LetFileClockPass(60'000'000); }

class Ground {
 public:
  Ground() {
    fs::create_directories(top / "dir/inner");
    Write("dir/file", "text");
    fs::create_symlink("file", top / "dir/link");
    fs::create_symlink("inner", top / "dir/way");
  }

  void Write(const std::string& path, const std::string& text) const {
    std::ofstream(top / path) << text;
  }
  // Another object under the same name.
  void Replace(const std::string& path, const std::function<void(const std::string&)>& make) const {
    make(top / "new");
    REQUIRE(rename((top / "new").c_str(), (top / path).c_str()) == 0);
  }
  [[nodiscard]] UniqueFd BindSocket(const std::string& path) const {
    UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    const std::string full = top / path;
    REQUIRE(full.size() < sizeof(address.sun_path));
    std::memcpy(address.sun_path, full.c_str(), full.size());
    REQUIRE(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
    return fd;
  }

  testing::TemporaryFolder top;
};

// That `look` is repeated: `change` shows at once, and when the folders have not changed for long.
// What is done in `keep` does not.
struct Case {
  std::function<void()> look;
  std::function<void()> keep;
  std::function<void()> change;
};

void CheckNoted(const Case& one, bool links_may_differ = false) {
  HostJournal journal;
  {
    const HostJournal::Recording recording(journal);
    one.look();
  }
  CHECK(journal.StillHolds(links_may_differ));
  if (one.keep) one.keep();
  CHECK(journal.StillHolds(links_may_differ));
  one.change();
  CHECK_FALSE(journal.StillHolds(links_may_differ));

  HostJournal aged;
  {
    const HostJournal::Recording recording(aged);
    one.look();
  }
  LetAge();
  CHECK(aged.StillHolds(links_may_differ));
  CHECK(aged.StillHolds(links_may_differ));
}

// The same for a change of what has been the same for long.
void CheckNotedOfOld(const Case& one, bool links_may_differ = false) {
  HostJournal journal;
  {
    const HostJournal::Recording recording(journal);
    one.look();
  }
  LetAge();
  CHECK(journal.StillHolds(links_may_differ));
  CHECK(journal.StillHolds(links_may_differ));
  // So often that the folders are watched, and the watching given up where much happens.
  const int asked = GENERATE(0, 10, 30);
  CAPTURE(asked);
  for (int i = 0; i < asked; ++i) {
    if (asked > 10 && one.keep) one.keep();
    CHECK(journal.StillHolds(links_may_differ));
  }
  one.change();
  CHECK_FALSE(journal.StillHolds(links_may_differ));
}

TEST_CASE("a name that comes into being, goes or changes its type shows in a journal",
          "[journal]") {
  Ground ground;
  const std::string absent = ground.top / "dir/absent";
  const auto look = [&] { (void)TypeAt(absent); };
  const auto keep = [&] { ground.Write("dir/beside", ""); };
  const auto make = [&] { fs::create_directory(absent); };
  const auto remove = [&] { fs::remove(absent); };
  SECTION("new") {
    CheckNoted({look, keep, make});
    remove();
    CheckNotedOfOld({look, keep, make});
  }
  SECTION("gone") {
    make();
    CheckNotedOfOld({look, keep, remove});
    make();
    CheckNoted({look, keep, remove});
  }
  SECTION("another type") {
    make();
    const auto to_link = [&] {
      remove();
      fs::create_symlink("inner", absent);
    };
    CheckNotedOfOld({look, keep, to_link});
  }
  SECTION("renamed away") {
    make();
    CheckNotedOfOld({look, keep, [&] { fs::rename(absent, ground.top / "dir/other"); }});
  }
}

TEST_CASE("what is missing below a missing folder shows when it comes into being", "[journal]") {
  Ground ground;
  const auto look = [&] {
    (void)TypeAt(ground.top / "dir/no");
    (void)TypeAt(ground.top / "dir/no/where");
    (void)TypeAt(ground.top / "dir/no/where/deep");
  };
  const auto only_deep = [&] { (void)TypeAt(ground.top / "dir/no/where/deep"); };
  const auto make = [&] { fs::create_directories(ground.top / "dir/no/where/deep"); };
  CheckNotedOfOld({look, {}, make});
  fs::remove_all(ground.top / "dir/no");
  CheckNotedOfOld({only_deep, {}, make});
  fs::remove_all(ground.top / "dir/no");
  // In a folder that is moved there as it is, and has not changed for long.
  fs::create_directories(ground.top / "ready/where/deep");
  CheckNotedOfOld({look, {}, [&] { fs::rename(ground.top / "ready", ground.top / "dir/no"); }});
}

TEST_CASE("a folder above that is another one shows in a journal", "[journal]") {
  Ground ground;
  fs::create_directories(ground.top / "other/inner");
  const auto look = [&] { (void)TypeAt(ground.top / "dir/inner/x"); };
  ground.Write("other/inner/x", "");
  CheckNotedOfOld({look, {}, [&] {
                     fs::rename(ground.top / "dir", ground.top / "away");
                     fs::rename(ground.top / "other", ground.top / "dir");
                   }});
}

TEST_CASE("a link that leads elsewhere shows in a journal", "[journal]") {
  Ground ground;
  const std::string link = ground.top / "dir/link";
  const auto look = [&] { (void)LinkAt(link); };
  const auto turn = [&] {
    ground.Replace("dir/link", [](const std::string& path) { fs::create_symlink("inner", path); });
  };
  const auto back = [&] {
    ground.Replace("dir/link", [](const std::string& path) { fs::create_symlink("file", path); });
  };
  const auto keep = [&] { ground.Write("dir/beside", ""); };
  CheckNoted({look, keep, turn});
  back();
  CheckNotedOfOld({look, {}, turn});
}

TEST_CASE("each link on the way of a path shows in a journal", "[journal]") {
  Ground ground;
  fs::create_directories(ground.top / "dir/inner/deep");
  fs::create_symlink("../inner", ground.top / "dir/inner/back");
  const std::string path = ground.top / "dir/way/back/deep";
  const auto look = [&] { CHECK(*ResolveLinks(path) == ground.top / "dir/inner/deep"); };
  const auto turn_first = [&] {
    ground.Replace("dir/way",
                   [](const std::string& new_link) { fs::create_symlink("x", new_link); });
  };
  const auto turn_second = [&] {
    ground.Replace("dir/inner/back",
                   [](const std::string& new_link) { fs::create_symlink("x", new_link); });
  };
  const auto last_to_link = [&] {
    fs::remove(ground.top / "dir/inner/deep");
    fs::create_symlink("/", ground.top / "dir/inner/deep");
  };
  SECTION("the first") { CheckNotedOfOld({look, {}, turn_first}); }
  SECTION("the second") { CheckNotedOfOld({look, {}, turn_second}); }
  SECTION("a folder that becomes one") { CheckNotedOfOld({look, {}, last_to_link}); }
  SECTION("links in circles") {
    fs::create_symlink("round", ground.top / "dir/round");
    const auto fail = [&] { CHECK_FALSE(ResolveLinks(ground.top / "dir/round").ok()); };
    CheckNotedOfOld({fail, {}, [&] { fs::remove(ground.top / "dir/round"); }});
  }
}

TEST_CASE("another file of the same name shows in a journal, and so do its other names",
          "[journal]") {
  Ground ground;
  const auto look = [&] { (void)LookAtFile(ground.top / "dir/file"); };
  const auto replace = [&] {
    ground.Replace("dir/file", [](const std::string& path) { std::ofstream(path) << "text"; });
  };
  const auto link = [&] { fs::create_hard_link(ground.top / "dir/file", ground.top / "second"); };
  CheckNoted({look, [&] { ground.Write("dir/beside", ""); }, replace});
  CheckNotedOfOld({look, {}, replace});
  CheckNotedOfOld({look, {}, link}, /*links_may_differ=*/true);
}

TEST_CASE("another list of names shows in a journal", "[journal]") {
  Ground ground;
  const std::string folder = ground.top / "dir";
  const auto look = [&] { CHECK(ListFolder(folder, [](std::string_view, NodeType) {}) == 0); };
  CheckNoted({look, [&] { ground.Write("beside", ""); }, [&] { ground.Write("dir/new", ""); }});
  CheckNotedOfOld({look, {}, [&] { fs::remove(ground.top / "dir/new"); }});
  CheckNotedOfOld({look, {}, [&] {
                     fs::remove(ground.top / "dir/link");
                     ground.Write("dir/link", "");
                   }});
  const auto look_at_none = [&] {
    CHECK(ListFolder(ground.top / "dir/none", [](std::string_view, NodeType) {}) == ENOENT);
  };
  CheckNotedOfOld({look_at_none, {}, [&] { fs::create_directory(ground.top / "dir/none"); }});
  const auto look_at_link = [&] {
    CHECK(ListFolder(ground.top / "dir/way", [](std::string_view, NodeType) {}) == ELOOP);
  };
  CheckNotedOfOld({look_at_link, {}, [&] {
                     fs::remove(ground.top / "dir/way");
                     fs::create_directory(ground.top / "dir/way");
                   }});
}

TEST_CASE("another text of a file shows in a journal, whatever its times say", "[journal]") {
  Ground ground;
  const std::string path = ground.top / "dir/file";
  const auto look = [&] { CHECK(TextAt(path, 2).size() <= 2); };
  const auto time = fs::last_write_time(path);
  const auto edit = [&](const std::string& text) {
    std::fstream(path, std::ios::in | std::ios::out) << text;
    fs::last_write_time(path, time);
  };
  CheckNoted({look, [&] { edit("text"); }, [&] { edit("tex!"); }});
  CheckNotedOfOld({look, {}, [&] { edit("text"); }});
  CheckNotedOfOld({look, {}, [&] { fs::remove(path); }});
  CheckNotedOfOld({look, {}, [&] { ground.Write("dir/file", "new"); }});
}

TEST_CASE("another owner shows in a journal", "[journal]") {
  if (geteuid() != 0) CORDON_SKIP("root", "only root gives files away");
  Ground ground;
  const std::string path = ground.top / "dir/file";
  const auto look = [&] { CHECK(OwnerAt(path).has_value()); };
  CheckNoted({look, {}, [&] { REQUIRE(chown(path.c_str(), 65534, 65534) == 0); }});
  CheckNotedOfOld({look, {}, [&] { REQUIRE(chown(path.c_str(), 0, 0) == 0); }});
}

TEST_CASE("a socket that is bound shows in a journal", "[journal]") {
  Ground ground;
  std::optional<HostJournal> journal;
  // Other programs bind sockets, too.
  for (int tries = 0; tries < 100; ++tries) {
    journal.emplace();
    {
      const HostJournal::Recording recording(*journal);
      (void)UnixSocketTable::OfThisHost();
    }
    if (journal->StillHolds()) break;
  }
  CHECK(journal->StillHolds());
  const UniqueFd socket = ground.BindSocket("dir/socket");
  CHECK_FALSE(journal->StillHolds());
}

// In a child, since it lives in a mount namespace of its own. 0: as it should be.
int MountOverFolder(const Ground& ground) {
  if (unshare(CLONE_NEWNS) != 0 || mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return 2;
  }
  HostJournal journal;
  {
    const HostJournal::Recording recording(journal);
    (void)TypeAt(ground.top / "dir/file");
  }
  LetAge();
  if (!journal.StillHolds() || !journal.StillHolds()) return 3;
  const std::string file = ground.top / "dir/file";
  if (mount("/dev/null", file.c_str(), nullptr, MS_BIND, nullptr) != 0) return 4;
  return journal.StillHolds() ? 5 : 0;
}

int MoveToOtherMounts(const Ground& ground) {
  HostJournal journal;
  {
    const HostJournal::Recording recording(journal);
    (void)TypeAt(ground.top / "dir/file");
  }
  if (!journal.StillHolds()) return 3;
  if (unshare(CLONE_NEWNS) != 0) return 2;
  return journal.StillHolds() ? 5 : 0;
}

int BecomeAnother(const Ground& ground) {
  HostJournal journal;
  {
    const HostJournal::Recording recording(journal);
    (void)TypeAt(ground.top / "dir/file");
  }
  if (!journal.StillHolds()) return 3;
  if (seteuid(65534) != 0) return 2;
  return journal.StillHolds() ? 5 : 0;
}

void CheckInChild(const std::function<int(const Ground&)>& body) {
  Ground ground;
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(body(ground));
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a mount, other mounts and another user show in a journal", "[journal]") {
  if (geteuid() != 0) CORDON_SKIP("root", "only root mounts");
  CheckInChild(MountOverFolder);
  CheckInChild(MoveToOtherMounts);
  CheckInChild(BecomeAnother);
}

TEST_CASE("a folder whose times may still be given to a later change is not known to be unchanged",
          "[journal]") {
  Ground ground;
  const std::string folder = ground.top / "dir";
  HostJournal journal;
  {
    const HostJournal::Recording recording(journal);
    (void)TypeAt(folder + "/absent");
  }
  // Times of the future stay too young, however long this takes.
  fs::last_write_time(folder, fs::file_time_type::clock::now() + std::chrono::hours(1));
  REQUIRE(journal.StillHolds());
  CHECK_FALSE(journal.IsUnchanged(folder));
  CHECK(journal.UnchangedFolders().empty());
  fs::last_write_time(folder, fs::file_time_type::clock::now() - std::chrono::hours(1));
  LetAge();
  REQUIRE(journal.StillHolds());
  CHECK(journal.IsUnchanged(folder));
  CHECK(journal.UnchangedFolders().contains(folder));
  ground.Write("dir/absent", "");
  CHECK_FALSE(journal.IsUnchanged(folder));
}

TEST_CASE("a journal with a look that nobody can repeat is worth nothing", "[journal]") {
  Ground ground;
  const auto kept = [](const std::function<void()>& look) {
    HostJournal journal;
    {
      const HostJournal::Recording recording(journal);
      look();
    }
    return journal.StillHolds();
  };
  const std::string path = ground.top / "dir";
  CHECK(kept([] {}));
  CHECK_FALSE(kept([&] { (void)StatusOf(path); }));
  CHECK_FALSE(kept([&] { (void)ReadLink(path); }));
  CHECK_FALSE(kept([&] { (void)ReadSmallFile(path, 1); }));
  CHECK_FALSE(kept([&] { (void)OpenFolderAt(path); }));
  // Said to be looked after elsewhere.
  CHECK(kept([&] {
    const HostJournal::Unnoted unnoted;
    (void)StatusOf(path);
  }));
  // And one with two answers to the same question.
  CHECK_FALSE(kept([&] {
    (void)TypeAt(path + "/x");
    ground.Write("dir/x", "");
    (void)TypeAt(path + "/x");
    ground.Write("dir/y", "");
    fs::remove(path + "/x");
  }));
}

}  // namespace
}  // namespace cordon::internal
