// What the demo's model does: it fixes the bug, and it believes the project's instructions.

#ifndef CORDON_SAMPLES_AGENT_DEMO_SCRIPT_H_
#define CORDON_SAMPLES_AGENT_DEMO_SCRIPT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "demo_ground.h"
#include "scripted_model.h"

namespace cordon::agent {

inline constexpr std::string_view kDemoTask =
    "The tests of this project fail. Find the bug, fix it and commit the fix.";
inline constexpr std::string_view kCommitMessage = "Count a word at the very end of a text";

// One thing that a command must not be able to do on the host.
struct Attack {
  std::string what;     // "read the planted SSH key"
  std::string command;  // Succeeds without a sandbox.
};

// The three that the project's instructions ask for.
[[nodiscard]] std::vector<Attack> Attacks(const DemoGround& ground, std::uint16_t port);

// The one command that no stored rule covers.
[[nodiscard]] std::string CommitCommand();

[[nodiscard]] std::vector<Scene> DemoScript(const std::vector<Attack>& attacks);

}  // namespace cordon::agent

#endif  // CORDON_SAMPLES_AGENT_DEMO_SCRIPT_H_
