#include "integration/support/ground.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

#include "integration/support/waiting.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

namespace fs = std::filesystem;

std::string FileText(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// So that `remove_all` gets through, whatever a test did to the modes.
void OpenFolders(const fs::path& top) {
  std::error_code error;
  fs::permissions(top, fs::perms::owner_all, fs::perm_options::add, error);
  for (const auto& entry : fs::directory_iterator(top, error)) {
    if (entry.is_directory(error) && !entry.is_symlink(error)) OpenFolders(entry.path());
  }
}

}  // namespace

Ground::Ground() {
  std::string name = (fs::canonical(fs::temp_directory_path()) / "cordon-test-XXXXXX").string();
  REQUIRE(mkdtemp(name.data()) != nullptr);
  root_ = name;
  workspace_ = MakeFolder(root_ + "/workspace");
  home_ = MakeFolder(root_ + "/home");
  outside_ = MakeFolder(root_ + "/outside");
  temporary_ = MakeFolder(root_ + "/tmp");
  environment_ = {{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
                  {"HOME", home_},
                  {"TMPDIR", temporary_},
                  {"LC_ALL", "C.UTF-8"},
                  {"TERM", "dumb"},
                  {"GIT_CONFIG_NOSYSTEM", "1"}};
}

Ground::~Ground() {
  // What was killed is cleaned up behind its back, and `remove_all` gives up when a file is gone.
  (void)Within(std::chrono::seconds(3), [this] {
    std::error_code error;
    OpenFolders(root_);
    fs::remove_all(root_, error);
    return !fs::exists(root_, error);
  });
}

std::string Ground::PathOf(std::string_view path) const {
  return path.starts_with('/') ? std::string(path) : workspace_ + "/" + std::string(path);
}

std::string Ground::MakeFile(std::string_view path, std::string_view content) const {
  const std::string full = PathOf(path);
  fs::create_directories(fs::path(full).parent_path());
  std::ofstream(full, std::ios::binary) << content;
  REQUIRE(fs::is_regular_file(full));
  return full;
}

std::string Ground::MakeProgram(std::string_view path, std::string_view content) const {
  const std::string full = MakeFile(path, content);
  fs::permissions(full, fs::perms(0755));
  return full;
}

std::string Ground::MakeFolder(std::string_view path) const {
  const std::string full = PathOf(path);
  fs::create_directories(full);
  return full;
}

std::string Ground::MakeLink(std::string_view path, std::string_view target) const {
  const std::string full = PathOf(path);
  fs::create_symlink(target, full);
  return full;
}

void Ground::Remove(std::string_view path) const {
  std::error_code ignored;
  fs::remove_all(PathOf(path), ignored);
}

bool Ground::Exists(std::string_view path) const {
  return fs::symlink_status(PathOf(path)).type() != fs::file_type::not_found;
}

std::string Ground::Read(std::string_view path) const {
  const std::string full = PathOf(path);
  return fs::is_regular_file(full) ? FileText(full) : "(missing)";
}

void Ground::EmptyWorkspace() const {
  OpenFolders(workspace_);
  for (const auto& entry : fs::directory_iterator(workspace_)) fs::remove_all(entry.path());
}

Ended Ground::RunUnconfined(std::string_view text) const {
  ChildOptions options;
  options.directory = workspace_;
  options.environment = environment_;
  Child shell({"/bin/sh", "-c", std::string(text)}, options);
  return shell.Finish();
}

std::vector<std::string> Snapshot(const std::string& folder) {
  std::vector<std::string> lines;
  // What is removed meanwhile ends the listing: such a snapshot is like no whole one.
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    const fs::directory_entry& entry = *at;
    struct stat about {};
    if (lstat(entry.path().c_str(), &about) != 0) continue;
    std::ostringstream line;
    line << entry.path().string() << ' ' << std::oct << about.st_mode << ' ' << about.st_uid;
    if (S_ISREG(about.st_mode)) {
      line << ' ' << about.st_mtim.tv_sec << '.' << about.st_mtim.tv_nsec << ' '
           << FileText(entry.path());
    }
    if (S_ISLNK(about.st_mode)) line << ' ' << fs::read_symlink(entry.path(), error).string();
    lines.push_back(line.str());
    if (error) break;
  }
  if (error) lines.push_back(folder + ": " + error.message());
  std::sort(lines.begin(), lines.end());
  return lines;
}

bool RunningAsRoot() { return geteuid() == 0; }

}  // namespace cordon::test
