// cordon profile: check a file, show what options mean, print the schema.

#include "cordon/sdk/profile.h"

#include <cstdio>
#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"
#include "command_line.h"
#include "cordon/sdk/digest.h"
#include "cordon/sdk/profile_json.h"
#include "policy_options.h"

namespace cordon::cli {
namespace {

// A file is right when it parses and, on this host, makes a profile; a file that leaves the
// workspace open is completed with the current folder, as `run` would do.
int Check(const std::string& file) {
  PolicyOptions options;
  options.profile = file;
  const auto profile = BuildProfile(options);
  if (!profile.ok()) return Fail(profile.status());
  std::printf("%s: valid, fingerprint %s\n", file.c_str(),
              DigestHex(profile->Fingerprint()).c_str());
  return 0;
}

// The profile alone on standard output, so that it can be kept as a file; the fingerprint beside
// it.
int Show(const PolicyOptions& options) {
  const auto profile = BuildProfile(options);
  if (!profile.ok()) return Fail(profile.status());
  std::fputs(ProfileToJson(profile->Settings()).c_str(), stdout);
  std::fprintf(stderr, "fingerprint: %s\n", DigestHex(profile->Fingerprint()).c_str());
  return 0;
}

}  // namespace

void AddProfileCommand(CLI::App& profile, Invocation& invocation) {
  profile.require_subcommand(1);
  profile.footer(
      "Examples:\n"
      "  cordon profile check policy.json\n"
      "  cordon profile show --preset read-only --net example.com:443 >policy.json\n"
      "  cordon profile schema");

  CLI::App* check = profile.add_subcommand("check", "Say whether a file is a valid profile");
  check->footer("Example:\n  cordon profile check policy.json");
  auto file = std::make_shared<std::string>();
  check->add_option("FILE", *file, "The profile")->required();
  check->callback([&invocation, file] { invocation.action = [file] { return Check(*file); }; });

  CLI::App* show = profile.add_subcommand("show", "Print the profile that options describe");
  show->footer("Example:\n  cordon profile show --preset trusted --deny-read '**/.env'");
  auto options = std::make_shared<PolicyOptions>();
  AddPolicyOptions(*show, *options);
  show->callback(
      [&invocation, options] { invocation.action = [options] { return Show(*options); }; });

  CLI::App* schema = profile.add_subcommand("schema", "Print the JSON Schema of profiles");
  schema->footer("Example:\n  cordon profile schema >profile.schema.json");
  schema->callback([&invocation] {
    invocation.action = [] {
      std::fputs(ProfileJsonSchema().c_str(), stdout);
      return 0;
    };
  });
}

}  // namespace cordon::cli
