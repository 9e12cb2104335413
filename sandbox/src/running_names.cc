#include "running_names.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace cordon::internal {

namespace {

// By its numbers and when it was made: the next object may have the numbers of one that is gone.
bool IsSame(const NodeStatus& one, const NodeStatus& other) {
  const bool same_numbers =
      one.stamp.device == other.stamp.device && one.stamp.inode == other.stamp.inode;
  if (one.born_ns != 0 || other.born_ns != 0) return same_numbers && one.born_ns == other.born_ns;
  return same_numbers && one.stamp.changed_ns == other.stamp.changed_ns;
}

}  // namespace

// Of this process: commands of all its executors may share a workspace.
struct RunningNames::Registry {
  static Registry& Get() {
    // Never destroyed: executor sets may be static objects.
    static Registry* const kInstance = new Registry;
    return *kInstance;
  }

  std::mutex mutex;
  std::set<RunningNames*> running;
};

RunningNames::RunningNames(std::shared_ptr<PublishedNames> published)
    : published_(std::move(published)) {
  Registry& registry = Registry::Get();
  const std::lock_guard lock(registry.mutex);
  std::map<std::string, std::string> rules;  // By path.
  const auto add = [&rules](const std::vector<AbsentName>& names) {
    for (const AbsentName& name : names) rules.emplace(name.path, name.rule);
  };
  for (const RunningNames* other : registry.running) {
    if (other->view_ != nullptr) add(other->view_->absent);
    for (const TakenOver& one : other->taken_over_) rules.emplace(one.name.path, one.name.rule);
  }
  for (const auto& [path, rule] : rules) taken_over_.push_back({{path, rule}, {}});
  registry.running.insert(this);
}

RunningNames::~RunningNames() { Leave(); }

bool RunningNames::SetOwn(std::shared_ptr<const CompiledView> view) {
  if (view == nullptr) return true;
  {
    Registry& registry = Registry::Get();
    const std::lock_guard lock(registry.mutex);
    view_ = std::move(view);
    TakeOverLocked(view_->absent_elsewhere);
    if (!taken_over_.empty()) {
      std::set<std::string_view> own;
      for (const AbsentName& name : view_->absent) own.insert(name.path);
      std::erase_if(taken_over_,
                    [&own](const TakenOver& one) { return own.contains(one.name.path); });
    }
    for (TakenOver& one : taken_over_) one.found = StatusOf(one.name.path);
  }
  if (published_ == nullptr || (view_->absent.empty() && taken_over_.empty())) return true;
  std::vector<std::string> more;
  for (const TakenOver& one : taken_over_) more.push_back(one.name.path);
  is_published_ = published_->Begin(view_, more);
  return is_published_;
}

void RunningNames::TakeOverLocked(const std::vector<AbsentName>& names) {
  for (const AbsentName& name : names) {
    const bool is_known =
        std::any_of(taken_over_.begin(), taken_over_.end(),
                    [&name](const TakenOver& one) { return one.name.path == name.path; });
    if (!is_known) taken_over_.push_back({name, {}});
  }
}

std::vector<std::string> RunningNames::UndoTakenOver() const {
  std::vector<AbsentName> made;
  for (const TakenOver& one : taken_over_) {
    const NodeStatus now = StatusOf(one.name.path);
    if (now.type != NodeType::kMissing && !IsSame(now, one.found)) made.push_back(one.name);
  }
  return UndoCreatedNames(made);
}

void RunningNames::Finish(NotedRun run, std::shared_ptr<const RegisteredPlan> plan) {
  ended_.push_back({std::move(run), std::move(plan)});
  Leave();
}

void RunningNames::Leave() {
  if (std::exchange(is_published_, false)) published_->End();
  std::vector<Ended> over;  // Let go without the lock.
  Registry& registry = Registry::Get();
  const std::lock_guard lock(registry.mutex);
  registry.running.erase(this);
  const auto heir =
      std::find_if(registry.running.begin(), registry.running.end(),
                   [](const RunningNames* other) { return !other->taken_over_.empty(); });
  std::vector<Ended>& to = heir != registry.running.end() ? (*heir)->ended_ : over;
  std::move(ended_.begin(), ended_.end(), std::back_inserter(to));
  ended_.clear();
  for (Ended& one : over) one.run.Tidied();
}

}  // namespace cordon::internal
