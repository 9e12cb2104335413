// The demo: a model, scripted unless there is a real one, fixes a bug in a real project through a
// real gate and a real sandbox.

#ifndef CORDON_SAMPLES_AGENT_DEMO_H_
#define CORDON_SAMPLES_AGENT_DEMO_H_

#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "cordon/sandbox/executor_set.h"
#include "model.h"
#include "terminal.h"

namespace cordon::agent {

struct DemoOptions {
  // The commit is approved at the terminal; else by the default answer, which is shown.
  bool ask_a_person = false;
  Backend backend = Backend::kAuto;
  // A real model instead of the scripted one; borrowed. What it does is its own affair, so nothing
  // is approved in advance, and of the three attacks only those are judged that it tried.
  Model* model = nullptr;
  std::string key;  // The model's, which no result may show. May be empty.
};

// Plays the demo and checks on the host that it came out as it says. Returns false when something
// did not, after saying what; an error when the demo could not be played, e.g. kUnavailable on a
// host that cannot confine.
[[nodiscard]] absl::StatusOr<bool> PlayDemo(Terminal& terminal, const DemoOptions& options,
                                            std::stop_token stop = {});

}  // namespace cordon::agent

#endif  // CORDON_SAMPLES_AGENT_DEMO_H_
