// Names that must not come into being while commands run, of all commands of this process.
//
// A command that is begun while another one runs finds what that one has planted, and would take it
// for the user's: its own list would lack the name, and what it planted there after the other one
// was tidied up after would stay. So it takes over what is forbidden to those that run.

#ifndef CORDON_SANDBOX_SRC_RUNNING_NAMES_H_
#define CORDON_SANDBOX_SRC_RUNNING_NAMES_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "object_identity.h"
#include "published_names.h"
#include "registered_plan.h"
#include "run_table.h"
#include "view.h"

namespace cordon::internal {

// Those of one command, from before its view is compiled until it has been tidied up after. Used by
// one thread at a time; those of different commands are safe from any thread.
class RunningNames {
 public:
  // With those of all that run. `published` tells other programs; may be null.
  explicit RunningNames(std::shared_ptr<PublishedNames> published);
  RunningNames(const RunningNames&) = delete;
  RunningNames& operator=(const RunningNames&) = delete;
  ~RunningNames();

  // Its own, once they are known. False when other programs could not be told of them.
  [[nodiscard]] bool SetOwn(std::shared_ptr<const CompiledView> view);

  // After the command, whose own names have been seen to: removes what has come into being since
  // under the names that it took over, and says which. What was there already is left to the
  // command that was first.
  [[nodiscard]] std::vector<std::string> UndoTakenOver() const;

  // The command has been tidied up after; `plan` is what `run` was noted with. While others run
  // that took over names, the launcher still has to know of it.
  void Finish(NotedRun run, std::shared_ptr<const RegisteredPlan> plan);

 private:
  struct Ended {
    NotedRun run;
    std::shared_ptr<const RegisteredPlan> plan;
  };
  struct Registry;

  void Leave();

  const std::shared_ptr<PublishedNames> published_;
  bool is_published_ = false;
  std::shared_ptr<const CompiledView> view_;
  std::map<std::string, ObjectIdentity> taken_over_;  // And what was there.
  std::vector<Ended> ended_;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_RUNNING_NAMES_H_
