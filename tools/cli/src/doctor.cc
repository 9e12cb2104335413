// cordon doctor: what this host can enforce, found out by building it.

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"
#include "command_line.h"
#include "cordon/sandbox/probe.h"
#include "nlohmann/json.hpp"

namespace cordon::internal {
namespace {

int ExitStatus(Tier tier) {
  switch (tier) {
    case Tier::kNamespaces:
      return 0;
    case Tier::kLandlock:
      return 1;
    case Tier::kNone:
      return 2;
  }
  return 2;
}

std::string ErrnoText(int number) {
  return std::error_code(number, std::generic_category()).message();
}

void PrintText(const HostProbe& probe) {
  std::printf("tier: %s\n", std::string(TierName(probe.tier)).c_str());
  for (const LayerProbe& layer : probe.layers) {
    if (layer.ok) {
      std::printf("  ok       %s\n", layer.layer.c_str());
      continue;
    }
    std::printf("  missing  %s: step '%s' failed: %s\n", layer.layer.c_str(), layer.step.c_str(),
                ErrnoText(layer.error_number).c_str());
    std::printf("           without it: %s\n", layer.without.c_str());
    std::printf("           fix: %s\n", layer.fix.c_str());
  }
  std::printf("  Landlock ABI %d\n", probe.landlock_abi);
  for (const std::string& gap : probe.landlock_gaps) std::printf("           %s\n", gap.c_str());
}

void PrintJson(const HostProbe& probe) {
  nlohmann::ordered_json json;
  json["tier"] = TierName(probe.tier);
  json["landlock_abi"] = probe.landlock_abi;
  json["landlock_gaps"] = probe.landlock_gaps;
  json["layers"] = nlohmann::ordered_json::array();
  for (const LayerProbe& layer : probe.layers) {
    json["layers"].push_back({{"layer", layer.layer},
                              {"ok", layer.ok},
                              {"step", layer.step},
                              {"errno", layer.error_number},
                              {"without", layer.without},
                              {"fix", layer.fix}});
  }
  std::printf("%s\n", json.dump(2).c_str());
}

int Doctor(bool as_json) {
  std::error_code error;
  const HostProbe& probe = ProbeHost(std::filesystem::temp_directory_path(error).string());
  if (as_json) {
    PrintJson(probe);
  } else {
    PrintText(probe);
  }
  return ExitStatus(probe.tier);
}

}  // namespace

void AddDoctorCommand(CLI::App& root, Invocation& invocation) {
  CLI::App* doctor = root.add_subcommand(
      "doctor", "Say what this host can enforce, and how to fix what is missing");
  doctor->footer(
      "Example:\n"
      "  cordon doctor --json\n"
      "\n"
      "Exit status: 0 the full tier, 1 a degraded one, 2 none.");
  auto as_json = std::make_shared<bool>(false);
  doctor->add_flag("--json", *as_json, "Print JSON");
  doctor->callback(
      [&invocation, as_json] { invocation.action = [as_json] { return Doctor(*as_json); }; });
}

}  // namespace cordon::internal
