#include "early_launcher.h"

#include <unistd.h>

#include <mutex>
#include <utility>

#include "cordon/sandbox/executor_set.h"

namespace cordon {
namespace internal {
namespace {

// The one mutable object of the process: `Init` has nowhere else to leave what it started. It holds
// at most one launcher, and never hands it out twice.
class EarlyLauncher {
 public:
  static EarlyLauncher& Get() {
    // Never destroyed: executor sets may be made while static objects are.
    static EarlyLauncher* const kInstance = new EarlyLauncher;
    return *kInstance;
  }

  void Start() {
    const std::lock_guard lock(mutex_);
    if (started_by_ == getpid()) return;
    started_by_ = getpid();
    Abandon();
    absl::StatusOr<std::shared_ptr<Launcher>> launcher = Launcher::Start("");
    if (launcher.ok()) launcher_ = *std::move(launcher);
  }

  std::shared_ptr<Launcher> Take() {
    const std::lock_guard lock(mutex_);
    if (started_by_ != getpid()) Abandon();
    return std::exchange(launcher_, nullptr);
  }

 private:
  // What a parent process started belongs to the parent: its destructor would stop it there.
  void Abandon() {
    if (launcher_ != nullptr) (void)new std::shared_ptr<Launcher>(std::move(launcher_));
  }

  std::mutex mutex_;
  pid_t started_by_ = 0;
  std::shared_ptr<Launcher> launcher_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<Launcher>> TakeLauncher(const std::string& fallback_directory) {
  std::shared_ptr<Launcher> early = EarlyLauncher::Get().Take();
  if (early != nullptr) return early;
  return Launcher::Start(fallback_directory);
}

}  // namespace internal

void Init() { internal::EarlyLauncher::Get().Start(); }

}  // namespace cordon
