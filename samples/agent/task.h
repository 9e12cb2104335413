// The agent at work on a task of somebody's own: a real model, a real project, every command asked
// for at the terminal.

#ifndef CORDON_SAMPLES_AGENT_TASK_H_
#define CORDON_SAMPLES_AGENT_TASK_H_

#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "cordon/sandbox/executor_set.h"
#include "model.h"
#include "terminal.h"

namespace cordon::agent {

struct TaskOptions {
  std::string task;
  std::string workspace;  // Absolute.
  // Where the conversation is kept; empty: a new file in the user's state folder.
  std::string transcript;
  bool ask_a_person = false;  // Else what needs an approval is refused,
  bool approve_all = false;   // or, for tests, approved.
  Backend backend = Backend::kAuto;
  Model* model = nullptr;  // Borrowed.
};

[[nodiscard]] absl::Status WorkOnTask(Terminal& terminal, const TaskOptions& options,
                                      std::stop_token stop);

}  // namespace cordon::agent

#endif  // CORDON_SAMPLES_AGENT_TASK_H_
