// cordon-agent: a small coding assistant whose shell commands go through cordon.

#include <unistd.h>

#include <iostream>
#include <optional>
#include <string_view>
#include <vector>

#include "cordon/sandbox/executor_set.h"
#include "demo.h"
#include "terminal.h"

namespace {

constexpr std::string_view kUsage =
    "usage: cordon-agent --demo [--backend auto|namespaces|landlock]\n"
    "\n"
    "Lets a scripted model, which needs no key and no network, find and fix a bug in a small C\n"
    "project in a temporary folder. Its commands are prepared, approved, confined and reported by\n"
    "cordon. The exit status is 0 when everything came out as the demo says, 1 when something did\n"
    "not, 125 when this host cannot confine commands. Real models are not part of this release.\n";

int Demo(cordon::Backend backend) {
  cordon::agent::Terminal terminal(std::cout, cordon::agent::WantsColor(STDOUT_FILENO));
  const bool ask_a_person = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  const absl::StatusOr<bool> all_hold = cordon::agent::PlayDemo(terminal, {ask_a_person, backend});
  if (!all_hold.ok()) {
    std::cerr << "cordon-agent: " << all_hold.status().message() << '\n';
    return 125;
  }
  std::cout << (*all_hold ? "\nThe demo came out as it should.\n"
                          : "\nThe demo did not come out as it should.\n");
  return *all_hold ? 0 : 1;
}

std::optional<cordon::Backend> ParseBackend(std::string_view name) {
  if (name == "auto") return cordon::Backend::kAuto;
  if (name == "namespaces") return cordon::Backend::kNamespaces;
  if (name == "landlock") return cordon::Backend::kLandlock;
  return std::nullopt;
}

struct Arguments {
  bool demo = false;
  bool help = false;
  cordon::Backend backend = cordon::Backend::kAuto;
};

std::optional<Arguments> ParseArguments(const std::vector<std::string_view>& words) {
  Arguments arguments;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--demo") {
      arguments.demo = true;
    } else if (words[i] == "--help") {
      arguments.help = true;
    } else if (words[i] == "--backend" && i + 1 < words.size()) {
      const std::optional<cordon::Backend> backend = ParseBackend(words[++i]);
      if (!backend.has_value()) return std::nullopt;
      arguments.backend = *backend;
    } else {
      return std::nullopt;
    }
  }
  return arguments;
}

}  // namespace

int main(int argc, char** argv) {
  cordon::Init();
  const std::optional<Arguments> arguments = ParseArguments({argv + 1, argv + argc});
  if (arguments.has_value() && arguments->help) {
    std::cout << kUsage;
    return 0;
  }
  if (arguments.has_value() && arguments->demo) return Demo(arguments->backend);
  std::cerr << kUsage;
  return 2;
}
