#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "command_match.h"
#include "cordon/gate/rules.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/digest.h"
#include "cordon/sdk/status.h"
#include "program_path.h"
#include "rule_match.h"
#include "rule_usage.h"
#include "wrappers.h"

namespace cordon {
namespace {

using Clock = std::function<std::chrono::system_clock::time_point()>;

// Tells a version of a file from the next one: it is replaced as a whole, so the inode changes.
struct FileVersion {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  timespec modified{};
  timespec changed{};

  static std::optional<FileVersion> Of(const std::string& path) {
    struct stat info {};
    if (lstat(path.c_str(), &info) != 0) return std::nullopt;
    return FileVersion{info.st_dev, info.st_ino, info.st_size, info.st_mtim, info.st_ctim};
  }
  friend bool operator==(const FileVersion& a, const FileVersion& b) {
    const auto same = [](const timespec& x, const timespec& y) {
      return x.tv_sec == y.tv_sec && x.tv_nsec == y.tv_nsec;
    };
    return a.device == b.device && a.inode == b.inode && a.size == b.size &&
           same(a.modified, b.modified) && same(a.changed, b.changed);
  }
};

class RuleSetImpl final : public RuleSet {
 public:
  RuleSetImpl(std::string path, Options options)
      : path_(std::move(path)),
        clock_(std::move(options.clock)),
        programs_(options.program_path.empty() ? CallersPath() : options.program_path) {
    if (!clock_) clock_ = std::chrono::system_clock::now;
  }

  bool has_file() const override { return !path_.empty(); }

  absl::StatusOr<RuleDecision> Decide(const Requirement& requirement,
                                      const Request& request) override {
    absl::StatusOr<std::vector<Rule>> rules = List();
    if (!rules.ok()) return rules.status();
    return internal::DecideByRules(*rules, requirement, request, clock_(), programs_);
  }

  bool TakeUses(const std::vector<std::string>& ids) override {
    const std::lock_guard lock(mutex_);
    std::vector<Rule*> limited;
    std::vector<std::string> stored;
    for (const std::string& id : ids) {
      const auto has_id = [&id](const Rule& rule) { return rule.id == id; };
      const auto it = std::find_if(session_.begin(), session_.end(), has_id);
      if (it == session_.end()) {
        if (std::none_of(stored_.begin(), stored_.end(), has_id)) return false;
        stored.push_back(id);
      } else if (it->uses.has_value()) {
        if (*it->uses == 0) return false;
        limited.push_back(&*it);
      }
    }
    if (!stored.empty() && !TakeStoredUses(stored)) return false;
    for (Rule* rule : limited) --*rule->uses;
    return true;
  }

  std::vector<RuleProgram> ProgramsOf(const Command& command) const override {
    const internal::ShellText text = internal::UnwrapAll(internal::ReadCommand(command));
    if (text.opaque) return {};
    return programs_.ProgramsOf(text, command.working_directory);
  }

  absl::Status Add(std::vector<Rule> rules, bool persist) override {
    for (Rule& rule : rules) {
      if (rule.id.empty()) rule.id = RandomId().substr(0, 12);
      if (rule.when == std::chrono::system_clock::time_point{}) rule.when = clock_();
    }
    if (persist) return Persist(std::move(rules));
    const std::lock_guard lock(mutex_);
    for (Rule& rule : rules) session_.push_back(std::move(rule));
    return absl::OkStatus();
  }

  absl::Status Remove(std::string_view id) override {
    {
      const std::lock_guard lock(mutex_);
      const auto removed = std::remove_if(session_.begin(), session_.end(),
                                          [id](const Rule& rule) { return rule.id == id; });
      if (removed != session_.end()) {
        session_.erase(removed, session_.end());
        return absl::OkStatus();
      }
    }
    if (has_file()) return RemoveFromRuleFile(path_, id);
    return MakeError(ErrorCode::kNotFound, "there is no rule \"" + EscapeForDisplay(id) + "\"");
  }

  absl::StatusOr<std::vector<Rule>> List() override {
    const std::lock_guard lock(mutex_);
    if (absl::Status status = Refresh(); !status.ok()) return status;
    std::vector<Rule> all = stored_;
    all.insert(all.end(), session_.begin(), session_.end());
    return all;
  }

  // Reads the file again when it changed. Once it was there, it may not vanish: that would lift
  // every denial. With `mutex_` held.
  absl::Status Refresh() {
    if (!has_file()) return absl::OkStatus();
    const std::optional<FileVersion> version = FileVersion::Of(path_);
    if (!version.has_value() && !version_.has_value() && errno == ENOENT) return absl::OkStatus();
    if (version.has_value() && version == version_) return absl::OkStatus();
    absl::StatusOr<std::vector<Rule>> rules = LoadRuleFile(path_);
    if (!rules.ok()) return rules.status();
    stored_ = *std::move(rules);
    version_ = version;
    return absl::OkStatus();
  }

 private:
  absl::Status Persist(std::vector<Rule> rules) const {
    if (!has_file()) {
      return MakeError(ErrorCode::kInvalidOption, "cannot store a rule for good: no rule file");
    }
    return AddToRuleFile(path_, std::move(rules));
  }

  // Another program may have used them up since the file was read. With `mutex_` held.
  bool TakeStoredUses(const std::vector<std::string>& ids) {
    const bool is_limited = std::any_of(stored_.begin(), stored_.end(), [&ids](const Rule& rule) {
      return rule.uses.has_value() && std::find(ids.begin(), ids.end(), rule.id) != ids.end();
    });
    if (is_limited && !internal::TakeUsesInRuleFile(path_, ids).ok()) return false;
    internal::CountRuleUsage(path_, ids, clock_());
    return true;
  }

  static std::string CallersPath() {
    const char* const callers = std::getenv("PATH");
    return (callers == nullptr ? "" : std::string(callers) + ":") +
           std::string(internal::kStandardProgramPath);
  }

  const std::string path_;  // Empty: memory only.
  Clock clock_;
  const internal::ProgramPath programs_;
  std::mutex mutex_;
  std::vector<Rule> session_;
  std::vector<Rule> stored_;
  std::optional<FileVersion> version_;  // Of `stored_`.
};

}  // namespace

std::shared_ptr<RuleSet> RuleSet::InMemory(Options options) {
  return std::make_shared<RuleSetImpl>("", std::move(options));
}

absl::StatusOr<std::shared_ptr<RuleSet>> RuleSet::Open(std::string path, bool create,
                                                       Options options) {
  if (path.empty()) return MakeError(ErrorCode::kInvalidOption, "the path of a rule file is empty");
  auto rules = std::make_shared<RuleSetImpl>(path, std::move(options));
  if (!create && !FileVersion::Of(path).has_value()) {
    return MakeErrnoError(errno, "cannot open the rule file " + EscapeForDisplay(path));
  }
  if (absl::StatusOr<std::vector<Rule>> loaded = rules->List(); !loaded.ok()) {
    return loaded.status();
  }
  return rules;
}

}  // namespace cordon
