// cordon doctor: what this host can enforce, found out by building it.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"
#include "command_line.h"
#include "cordon/sandbox/conformance.h"
#include "cordon/sandbox/executor_set.h"
#include "cordon/sandbox/probe.h"
#include "nlohmann/json.hpp"

namespace cordon::cli {
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

void PrintText(const LayerProbe& layer) {
  if (layer.ok) {
    std::printf("  ok       %s\n", layer.layer.c_str());
    return;
  }
  const std::string cause =
      layer.error_number == 0 ? "not there" : "failed: " + ErrnoText(layer.error_number);
  std::printf("  missing  %s: step '%s' %s\n", layer.layer.c_str(), layer.step.c_str(),
              cause.c_str());
  std::printf("           without it: %s\n", layer.without.c_str());
  std::printf("           fix: %s\n", layer.fix.c_str());
}

void PrintText(const HostProbe& probe, const LayerProbe& limits) {
  std::printf("tier: %s\n", std::string(TierName(probe.tier)).c_str());
  for (const LayerProbe& layer : probe.layers) PrintText(layer);
  PrintText(limits);
  std::printf("  Landlock ABI %d\n", probe.landlock_abi);
  for (const std::string& gap : probe.landlock_gaps) std::printf("           %s\n", gap.c_str());
}

nlohmann::ordered_json AsJson(const LayerProbe& layer) {
  return {{"layer", layer.layer},        {"ok", layer.ok},           {"step", layer.step},
          {"errno", layer.error_number}, {"without", layer.without}, {"fix", layer.fix}};
}

nlohmann::ordered_json AsJson(const HostProbe& probe, const LayerProbe& limits) {
  nlohmann::ordered_json json;
  json["tier"] = TierName(probe.tier);
  json["landlock_abi"] = probe.landlock_abi;
  json["landlock_gaps"] = probe.landlock_gaps;
  json["layers"] = nlohmann::ordered_json::array();
  for (const LayerProbe& layer : probe.layers) json["layers"].push_back(AsJson(layer));
  json["limits"] = AsJson(limits);
  return json;
}

nlohmann::ordered_json AsJson(const Conformance& proof) {
  nlohmann::ordered_json json;
  json["backend"] = proof.report.backend;
  json["holds"] = proof.Holds();
  for (const GuaranteeVerdict& verdict : proof.verdicts) {
    json["verdicts"][verdict.guarantee] = VerdictName(verdict.verdict);
  }
  json["attacks"] = nlohmann::ordered_json::array();
  for (const AttackResult& attack : proof.attacks) {
    json["attacks"].push_back({{"guarantee", attack.guarantee},
                               {"attack", attack.attack},
                               {"works_outside", attack.works_outside},
                               {"works_inside", attack.works_inside},
                               {"inside", attack.inside}});
  }
  return json;
}

void PrintText(const Conformance& proof) {
  std::printf("proof, in the %s tier:\n", proof.report.backend.c_str());
  for (const GuaranteeVerdict& verdict : proof.verdicts) {
    std::printf("  %-18s %s\n", verdict.guarantee.c_str(),
                std::string(VerdictName(verdict.verdict)).c_str());
    for (const AttackResult& attack : proof.attacks) {
      if (attack.guarantee != verdict.guarantee) continue;
      std::printf("    %-46s outside: %-4s inside: %s\n", attack.attack.c_str(),
                  attack.works_outside ? "done" : "no", attack.inside.c_str());
    }
  }
}

// A claim that does not hold, or that could not be shown to.
constexpr int kNotProved = 3;

absl::StatusOr<Conformance> Prove(const std::string& folder, const std::string& backend) {
  // Nothing else runs in this program that could read the environment.
  constexpr char kPlanted[] = "CORDON_PLANTED";
  setenv(kPlanted, "planted", 1);
  ConformanceOptions options;
  options.scratch_root = folder;
  options.planted_variable = kPlanted;
  return ProveConformance(options, backend == "landlock"     ? Backend::kLandlock
                                   : backend == "namespaces" ? Backend::kNamespaces
                                                             : Backend::kAuto);
}

struct DoctorOptions {
  bool json = false;
  bool prove = false;
  std::string backend = "auto";
};

int Doctor(const DoctorOptions& options) {
  std::error_code error;
  const std::string folder = std::filesystem::temp_directory_path(error).string();
  LeaveDelegatedCgroup();
  const HostProbe& probe = ProbeHost(folder);
  const LayerProbe limits = ProbeLimits(folder);
  nlohmann::ordered_json json = AsJson(probe, limits);
  if (!options.json) PrintText(probe, limits);
  int status = ExitStatus(probe.tier);
  if (options.prove) {
    const absl::StatusOr<Conformance> proof = Prove(folder, options.backend);
    if (!proof.ok()) {
      std::fprintf(stderr, "cordon: nothing could be proved: %s\n",
                   std::string(proof.status().message()).c_str());
      return kNotProved;
    }
    if (!options.json) PrintText(*proof);
    json["proof"] = AsJson(*proof);
    if (!proof->Holds()) status = kNotProved;
  }
  if (options.json) std::printf("%s\n", json.dump(2).c_str());
  return status;
}

}  // namespace

void AddDoctorCommand(CLI::App& doctor, Invocation& invocation) {
  doctor.footer(
      "Example:\n"
      "  cordon doctor --json\n"
      "\n"
      "  cordon doctor --prove\n"
      "\n"
      "Exit status: 0 the full tier, 1 a degraded one, 2 none; with --prove 3 when a guarantee\n"
      "that is claimed does not hold, or could not be shown to.");
  auto options = std::make_shared<DoctorOptions>();
  doctor.add_flag("--json", options->json, "Print JSON");
  doctor.add_flag("--prove", options->prove, "Attack every guarantee that is claimed here");
  doctor.add_option("--backend", options->backend, "With --prove: the tier to attack")
      ->check(CLI::IsMember({"auto", "namespaces", "landlock"}));
  doctor.callback(
      [&invocation, options] { invocation.action = [options] { return Doctor(*options); }; });
}

}  // namespace cordon::cli
