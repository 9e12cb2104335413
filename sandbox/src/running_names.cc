#include "running_names.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <set>
#include <utility>

namespace cordon::internal {

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
  for (const RunningNames* other : registry.running) {
    if (other->view_ != nullptr) {
      for (const AbsentName& name : other->view_->absent) taken_over_.try_emplace(name.path);
    }
    for (const auto& [path, found] : other->taken_over_) taken_over_.try_emplace(path);
  }
  registry.running.insert(this);
}

RunningNames::~RunningNames() { Leave(); }

bool RunningNames::SetOwn(std::shared_ptr<const CompiledView> view) {
  if (view == nullptr) return true;
  {
    Registry& registry = Registry::Get();
    const std::lock_guard lock(registry.mutex);
    view_ = std::move(view);
    for (const std::string& path : view_->absent_elsewhere) taken_over_.try_emplace(path);
    if (!taken_over_.empty()) {
      for (const AbsentName& name : view_->absent) taken_over_.erase(name.path);
    }
    for (auto& [path, found] : taken_over_) found = IdentityAt(path);
  }
  if (published_ == nullptr || (view_->absent.empty() && taken_over_.empty())) return true;
  std::vector<std::string> more;
  for (const auto& [path, found] : taken_over_) more.push_back(path);
  is_published_ = published_->Begin(view_, more);
  return is_published_;
}

std::vector<std::string> RunningNames::UndoTakenOver() const {
  std::vector<AbsentName> made;
  for (const auto& [path, found] : taken_over_) {
    const ObjectIdentity now = IdentityAt(path);
    if (now.exists() && now != found) made.push_back({path, path});
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
