// Whether a compiler that remembers gives what one without a memory gives, whatever happens on the
// host between two commands.

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cordon/sdk/unique_fd.h"
#include "view.h"
#include "view_testing.h"
#include "workspace_index.h"

namespace cordon::internal {
namespace {

using testing::ViewFixture;
namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr int kLandlockAbi = 7;

void LetAge() { testing::LetFileClockPass(60'000'000); }

// A compiler with a memory beside what it should give.
class Remembering {
 public:
  Remembering(const ViewFixture& fixture, const ProfileConfig& config,
              Tier tier = Tier::kNamespaces)
      : fixture_(fixture),
        tier_(tier),
        profile_(fixture.MakeProfile(config)),
        compiler_(profile_, fixture.scratch(), kLandlockAbi, tier) {}

  void Check() {
    const absl::StatusOr<std::shared_ptr<const CompiledView>> view = compiler_.Compile();
    const absl::StatusOr<CompiledView> fresh =
        CompileView(profile_, profile_.paths(), fixture_.scratch(), kLandlockAbi, tier_);
    REQUIRE(view.ok() == fresh.ok());
    if (!view.ok()) return;
    last_ = *view;
    REQUIRE((*view)->ops == fresh->ops);
    REQUIRE((*view)->landlock_rules == fresh->landlock_rules);
    REQUIRE((*view)->absent == fresh->absent);
    REQUIRE((*view)->entries == fresh->entries);
    REQUIRE(*(*view)->found == *fresh->found);
  }
  // As after a command that began before the last change.
  void EndWithoutView() { (void)compiler_.ChangedProtected(*last_); }
  // As after each command.
  void EndCommand() {
    const auto view = compiler_.Compile();
    if (view.ok()) (void)compiler_.ChangedProtected(**view);
  }
  // What a command made that it must not, after `command`.
  [[nodiscard]] std::vector<std::string> ChangedBy(const std::function<void()>& command) {
    const auto view = compiler_.Compile();
    REQUIRE(view.ok());
    command();
    return compiler_.ChangedProtected(**view);
  }
  [[nodiscard]] std::uint64_t version() const { return compiler_.checked().version; }
  [[nodiscard]] std::size_t compilations() const { return compiler_.compilations(); }

 private:
  const ViewFixture& fixture_;
  const Tier tier_;
  const Profile profile_;
  ViewCompiler compiler_;
  std::shared_ptr<const CompiledView> last_;
};

// Sockets of other programs count by their last component.
std::string SocketName() { return "socket" + std::to_string(getpid()); }

ProfileConfig ConfigOf(const ViewFixture& fixture) {
  ProfileConfig config = fixture.Config();
  config.deny_read = {fixture.workspace + "/**/.env", fixture.workspace + "/secret"};
  config.deny_write = {fixture.workspace + "/fixed"};
  // Those at home are in no folder that is walked.
  for (const std::string& path :
       {fixture.outside, fixture.home + "/f0/config", fixture.home + "/link",
        fixture.home + "/f0/f0/link", fixture.home + "/f1/" + SocketName(),
        fixture.home + "/f1/secret/x"}) {
    config.additional_roots.push_back({path, Access::kAllow, Access::kDeny});
  }
  config.unix_sockets = {fixture.workspace + "/f0/" + SocketName(),
                         fixture.outside + "/f0/" + SocketName()};
  return config;
}

class RandomChanges {
 public:
  RandomChanges(const ViewFixture& fixture, std::uint32_t seed) : fixture_(fixture), state_(seed) {
    for (const std::string& root : {fixture.workspace, fixture.outside, fixture.home}) {
      for (const char* folder : {"f0", "f1", "secret"}) fs::create_directories(root + "/" + folder);
    }
  }
  ~RandomChanges() {
    for (const UniqueFd& folder : closed_) (void)chmod(Name(folder).c_str(), 0700);
  }
  RandomChanges(const RandomChanges&) = delete;
  RandomChanges& operator=(const RandomChanges&) = delete;

  [[nodiscard]] std::size_t Below(std::size_t limit) {
    state_ = state_ * 1664525 + 1013904223;
    return (state_ >> 8) % limit;
  }

  void Change() {
    std::error_code ignored;
    in_walked_folders_ = Below(2) == 0;
    switch (Below(15)) {
      case 0:
      case 1:
        fs::create_directories(Place(), ignored);
        break;
      case 2:
      case 3:
        std::ofstream(Place()) << Text();
        break;
      case 4:
        if (Below(3) == 0) fs::remove_all(Place(), ignored);
        break;
      case 5:
        fs::remove(Place(), ignored);
        break;
      case 6:
        fs::rename(Place(), Place(), ignored);
        break;
      case 7:
        fs::create_symlink(Place(), Place(), ignored);
        break;
      case 8:
        fs::create_hard_link(Place(), Place(), ignored);
        break;
      case 9:
        SetRights();
        break;
      case 10:
        Bind(fs::path(Place()).replace_filename(SocketName()));
        break;
      case 11:
        if (!sockets_.empty()) sockets_.erase(sockets_.begin() + Below(sockets_.size()));
        break;
      case 12:
        ReplaceByTheSame();
        break;
      case 13:
        MakeRepository(Place());
        break;
      case 14:
        fs::last_write_time(Place(), fs::file_time_type::clock::now() - std::chrono::hours(1),
                            ignored);
        break;
    }
  }

 private:
  [[nodiscard]] static std::string Name(const UniqueFd& fd) {
    return "/proc/self/fd/" + std::to_string(fd.get());
  }

  [[nodiscard]] std::string Place() {
    static const std::vector<std::string> kNames = {
        ".git", ".env",    "config", "hooks",  "HEAD",  "objects",   "refs",    "worktrees",
        "link", ".vscode", "secret", "socket", "fixed", "commondir", ".bashrc", "f0"};
    const std::vector<std::string> walked = {fixture_.workspace, fixture_.outside};
    const std::vector<std::string> others = {fixture_.workspace + "/secret", fixture_.home};
    std::string path = (in_walked_folders_ ? walked : others)[Below(2)];
    for (std::size_t depth = Below(3); depth > 0; --depth) path += Below(2) == 0 ? "/f0" : "/f1";
    return path + "/" + kNames[Below(kNames.size())];
  }

  [[nodiscard]] std::string Text() {
    switch (Below(4)) {
      case 0:
        return "gitdir: " + Place() + "\n";
      case 1:
        return "[core]\n\thooksPath = " + Place() + "\n";
      case 2:
        return "[include]\n\tpath = ../f1/config\n";
    }
    return "text\n";
  }

  void SetRights() {
    UniqueFd folder(open(Place().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder.valid() || closed_.size() > 100) return;
    const mode_t modes[] = {0700, 0755, 0500, 0300, 0000};
    (void)fchmod(folder.get(), modes[Below(5)]);
    closed_.push_back(std::move(folder));
  }

  void Bind(const std::string& path) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path) || sockets_.size() > 20) return;
    std::memcpy(address.sun_path, path.c_str(), path.size());
    UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
      sockets_.push_back(std::move(fd));
    }
  }

  void ReplaceByTheSame() {
    std::error_code ignored;
    const std::string path = Place();
    const std::string beside = fixture_.top / "beside";
    fs::remove_all(beside, ignored);
    if (!fs::is_regular_file(fs::symlink_status(path, ignored))) return;
    fs::copy(path, beside, ignored);
    fs::rename(beside, path, ignored);
  }

  void MakeRepository(const std::string& path) {
    std::error_code ignored;
    for (const char* name : {"objects", "refs", "hooks", "worktrees/w"}) {
      fs::create_directories(path + "/" + name, ignored);
    }
    std::ofstream(path + "/HEAD") << "ref: refs/heads/main\n";
    std::ofstream(path + "/config") << Text();
    // A linked worktree of it, sometimes the workspace's own.
    const std::string worktree = Below(2) == 0 ? fixture_.workspace : fixture_.workspace + "/f0";
    std::ofstream(path + "/worktrees/w/gitdir") << worktree << "/.git\n";
    std::ofstream(path + "/worktrees/w/commondir") << "../..\n";
    fs::remove_all(worktree + "/.git", ignored);
    std::ofstream(worktree + "/.git") << "gitdir: " << path << "/worktrees/w\n";
  }

  const ViewFixture& fixture_;
  std::uint32_t state_;
  bool in_walked_folders_ = true;
  std::vector<UniqueFd> closed_;
  std::vector<UniqueFd> sockets_;
};

void CompareThroughChanges(Tier tier, std::uint32_t seed) {
  ViewFixture fixture;
  RandomChanges random(fixture, seed);
  Remembering remembering(fixture, ConfigOf(fixture), tier);
  for (int step = 0; step < 400; ++step) {
    CAPTURE(seed, step);
    if (random.Below(3) != 0) random.Change();
    if (random.Below(3) == 0) continue;  // Several changes at a time.
    if (random.Below(40) == 0) {
      // What has been the same for long is remembered in another way.
      LetAge();
      remembering.Check();
    }
    remembering.Check();
    if (random.Below(4) == 0) remembering.EndCommand();
  }
}

TEST_CASE("whatever happens between them, views that are remembered are those of the present",
          "[view]") {
  for (const std::uint32_t seed : {1U, 2U, 3U, 4U, 5U})
    CompareThroughChanges(Tier::kNamespaces, seed);
}

TEST_CASE("whatever happens between them, remembered rules of the landlock tier are the present",
          "[view]") {
  for (const std::uint32_t seed : {6U, 7U, 8U}) CompareThroughChanges(Tier::kLandlock, seed);
}

TEST_CASE("a view is not compiled again while nothing changes", "[view]") {
  for (const Tier tier : {Tier::kNamespaces, Tier::kLandlock}) {
    ViewFixture fixture;
    RandomChanges random(fixture, 17);
    for (int i = 0; i < 100; ++i) random.Change();
    Remembering remembering(fixture, ConfigOf(fixture), tier);
    for (int i = 0; i < 30; ++i) {
      remembering.Check();
      remembering.EndCommand();
      if (i == 5) LetAge();
    }
    // Other programs may bind sockets meanwhile.
    const std::size_t compilations = remembering.compilations();
    CHECK(compilations < 10);
    std::ofstream(fixture.workspace + "/.env");
    remembering.Check();
    CHECK(remembering.compilations() > compilations);
  }
}

TEST_CASE("what a command made under absent names is removed, however long they were absent",
          "[view]") {
  for (const Tier tier : {Tier::kNamespaces, Tier::kLandlock}) {
    ViewFixture fixture;
    fs::create_directories(fixture.workspace + "/f0/.git/objects");
    Remembering remembering(fixture, ConfigOf(fixture), tier);
    const std::string name = fixture.workspace + "/.envrc";
    const std::string deep = fixture.workspace + "/f0/.git/commondir";
    const auto make = [&] {
      std::ofstream{name};
      std::ofstream{deep};
      fs::last_write_time(fixture.workspace, fs::file_time_type::clock::now() - 1h);
    };
    for (int i = 0; i < 3; ++i) {
      CHECK(remembering.ChangedBy([] {}).empty());
      CHECK(remembering.ChangedBy(make) == std::vector{name, deep});
      CHECK_FALSE(fs::exists(name));
      CHECK_FALSE(fs::exists(deep));
      remembering.Check();
      LetAge();
      remembering.Check();  // From now on the folders stand for the names.
      remembering.Check();
    }
    // In a folder that its command has closed.
    const auto make_and_close = [&] {
      make();
      fs::permissions(fixture.workspace + "/f0/.git", fs::perms::none);
    };
    const std::vector<std::string> changed = remembering.ChangedBy(make_and_close);
    CHECK(std::count(changed.begin(), changed.end(), deep) == 1);
    fs::permissions(fixture.workspace + "/f0/.git", fs::perms::owner_all);
    CHECK_FALSE(fs::exists(deep));
  }
}

TEST_CASE("what one command made is removed though the next one's view was made beside it",
          "[view]") {
  ViewFixture fixture;
  const Profile profile = fixture.MakeProfile(ConfigOf(fixture));
  ViewCompiler compiler(profile, fixture.scratch(), kLandlockAbi);
  const std::string name = fixture.workspace + "/.envrc";
  const auto first = compiler.Compile();
  REQUIRE(first.ok());
  std::ofstream{name};
  for (int i = 0; i < 3; ++i) {
    REQUIRE(compiler.Compile().ok());
    LetAge();
  }
  CHECK(compiler.ChangedProtected(**first) == std::vector{name});
  CHECK_FALSE(fs::exists(name));
}

TEST_CASE("another name of a protected file shows, also if it was there when a command ended",
          "[view]") {
  for (const bool ends_before : {false, true}) {
    ViewFixture fixture;
    fs::create_directories(fixture.workspace + "/f0/.git/objects");
    fs::create_directories(fixture.workspace + "/f1");
    std::ofstream(fixture.workspace + "/f0/.git/config") << "[core]\n";
    Remembering remembering(fixture, ConfigOf(fixture));
    for (int i = 0; i < 3; ++i) {
      remembering.Check();
      LetAge();
    }
    fs::create_hard_link(fixture.workspace + "/f0/.git/config", fixture.workspace + "/f1/other");
    if (ends_before) remembering.EndWithoutView();
    remembering.Check();
  }
}

TEST_CASE("what is known of folders has another version after each change in one of them",
          "[view]") {
  ViewFixture fixture;
  Remembering remembering(fixture, ConfigOf(fixture));
  const auto is_settled = [&] {
    const std::uint64_t version = remembering.version();
    remembering.Check();
    return remembering.version() == version;
  };
  remembering.Check();
  LetAge();
  remembering.Check();
  // Other programs bind sockets, too, and then a view is compiled again.
  bool settled = false;
  int tries = 0;
  for (; tries < 100 && !settled; ++tries) settled = is_settled();
  CHECK(settled);
  std::ofstream(fixture.home + "/beside");  // In the folder of a place of the profile's.
  CHECK_FALSE(is_settled());
  // Too young to be known by its times, and not watched yet.
  if (tries == 1) CHECK_FALSE(is_settled());
}

}  // namespace
}  // namespace cordon::internal
