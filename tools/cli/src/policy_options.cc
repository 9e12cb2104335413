#include "policy_options.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <system_error>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cordon/sdk/network_target.h"
#include "cordon/sdk/path_identity.h"
#include "cordon/sdk/profile_json.h"
#include "cordon/sdk/status.h"
#include "values.h"

namespace cordon::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxPort = 65535;

// `status` with the option in front, so that one line says what to correct.
absl::Status Blame(std::string_view option, std::string_view value, const absl::Status& status) {
  return Annotate(status, absl::StrFormat("%s '%s'", option, value));
}

void AddRepeatable(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                   const std::string& description, const std::string& type) {
  app.add_option(name, values, description)->allow_extra_args(false)->type_name(type);
}

absl::StatusOr<std::string> AbsolutePath(const std::string& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  if (path.empty() || error) {
    return MakeError(ErrorCode::kInvalidOption, "the path is empty or the current folder is gone");
  }
  return ResolveSymlinks(NormalizePath(absolute.string()));
}

// The config that the rest is laid over, with the workspace filled in.
absl::StatusOr<ProfileConfig> BaseConfig(const PolicyOptions& options) {
  if (!options.profile.empty() && options.preset_given) {
    return MakeError(ErrorCode::kInvalidOption,
                     "--preset and --profile each give a whole policy, name only one of them");
  }
  ProfileConfig config;
  std::string workspace = options.workspace;
  if (!options.profile.empty()) {
    auto loaded = LoadProfileFile(options.profile);
    if (!loaded.ok()) return Annotate(loaded.status(), "--profile");
    config = *std::move(loaded);
    if (workspace.empty()) workspace = config.workspace_root;
  }
  auto root = AbsolutePath(workspace.empty() ? "." : workspace);
  if (!root.ok()) return Blame("--workspace", workspace, root.status());
  std::error_code error;
  if (!fs::is_directory(*root, error)) {
    return MakeError(ErrorCode::kInvalidOption,
                     absl::StrFormat("--workspace '%s': no such folder", workspace));
  }
  if (options.profile.empty()) {
    auto preset = PresetConfig(options.preset_given ? options.preset : "workspace", *root);
    if (!preset.ok()) return Blame("--preset", options.preset, preset.status());
    config = *std::move(preset);
  }
  config.workspace_root = *root;
  return config;
}

// `--read` and `--write`: what a path gets on top of the access that it has so far.
absl::Status LayRoots(const PolicyOptions& options, ProfileConfig& config) {
  if (options.read.empty() && options.write.empty()) return absl::OkStatus();
  const auto before = Profile::Create(config);
  if (!before.ok()) return before.status();
  config = before->Settings();

  const auto lay = [&](std::string_view option, const std::string& value,
                       bool write) -> absl::Status {
    const auto path = AbsolutePath(value);
    if (!path.ok()) return Blame(option, value, path.status());
    if (*path == config.workspace_root) {
      config.workspace_read = Access::kAllow;
      if (write) config.workspace_write = Access::kAllow;
      return absl::OkStatus();
    }
    if (*path == "/") {
      config.host_read = Access::kAllow;
      if (write) config.host_write = Access::kAllow;
      return absl::OkStatus();
    }
    auto root = std::find_if(config.additional_roots.begin(), config.additional_roots.end(),
                             [&](const AdditionalRoot& r) { return r.path == *path; });
    if (root == config.additional_roots.end()) {
      const Access inherited = before->Explain(Axis::kWrite, *path).access;
      config.additional_roots.push_back({*path, Access::kDeny, inherited});
      root = std::prev(config.additional_roots.end());
    }
    root->read = Access::kAllow;
    if (write) root->write = Access::kAllow;
    return absl::OkStatus();
  };
  for (const std::string& value : options.read) {
    if (absl::Status status = lay("--read", value, false); !status.ok()) return status;
  }
  for (const std::string& value : options.write) {
    if (absl::Status status = lay("--write", value, true); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status LayDenies(const PolicyOptions& options, ProfileConfig& config) {
  const auto lay = [](std::string_view option, const std::vector<std::string>& from,
                      std::vector<std::string>& to) -> absl::Status {
    for (const std::string& value : from) {
      if (const auto status = ValidateGlob(value); !status.ok())
        return Blame(option, value, status);
      to.push_back(value);
    }
    return absl::OkStatus();
  };
  if (absl::Status s = lay("--deny-read", options.deny_read, config.deny_read); !s.ok()) return s;
  return lay("--deny-write", options.deny_write, config.deny_write);
}

absl::Status LayPorts(std::string_view option, const std::vector<std::string>& values,
                      std::vector<std::uint16_t>& ports) {
  for (const std::string& value : values) {
    const auto port = ParseCount(value, kMaxPort);
    if (!port.ok()) return Blame(option, value, port.status());
    ports.push_back(static_cast<std::uint16_t>(*port));
  }
  return absl::OkStatus();
}

// `NAME:PORT=ADDRESS:PORT2`. It grants nothing; it is only checked here.
absl::Status CheckResolve(const std::string& value) {
  const std::size_t equals = value.find('=');
  if (equals == std::string::npos) {
    return MakeError(ErrorCode::kInvalidOption, "write it as NAME:PORT=ADDRESS:PORT");
  }
  const auto name = ParseNetworkTarget(value.substr(0, equals));
  const auto address = ParseNetworkTarget(value.substr(equals + 1));
  if (!name.ok()) return name.status();
  if (!address.ok()) return address.status();
  if (IsPattern(*name) || IsPattern(*address) || !address->is_address) {
    return MakeError(ErrorCode::kInvalidOption,
                     "it maps one name and port to one address and port");
  }
  return absl::OkStatus();
}

absl::Status LayNetwork(const PolicyOptions& options, ProfileConfig& config) {
  for (const std::string& value : options.net) {
    const auto target = ParseNetworkTarget(value);
    if (!target.ok()) return Blame("--net", value, target.status());
    config.network_targets.push_back(NetworkTargetText(*target));
  }
  for (const std::string& value : options.resolve) {
    if (const auto s = CheckResolve(value); !s.ok()) return Blame("--resolve", value, s);
  }
  if (options.net_any) config.network = Access::kAllow;
  for (const std::string& value : options.unix_socket) {
    // Links stay: the sandbox follows only those that no command can have planted.
    std::error_code error;
    const fs::path path = fs::absolute(value, error);
    if (value.empty() || error) {
      return Blame("--unix-socket", value,
                   MakeError(ErrorCode::kInvalidOption, "it is no path of a socket"));
    }
    config.unix_sockets.push_back(NormalizePath(path.string()));
  }
  if (absl::Status s = LayPorts("--host-port", options.host_port, config.loopback_ports); !s.ok()) {
    return s;
  }
  return LayPorts("--publish", options.publish, config.publish_ports);
}

// An option that is given again, or on top of the profile, replaces the earlier entry of its name.
absl::Status LayEnvironment(const PolicyOptions& options, ProfileConfig& config) {
  const auto name_of = [](const std::string& entry) { return entry.substr(0, entry.find('=')); };
  for (const std::string& value : options.env) {
    const std::string name = name_of(value);
    if (name.empty()) {
      return MakeError(ErrorCode::kInvalidOption,
                       absl::StrFormat("--env '%s': write it as NAME or NAME=VALUE", value));
    }
    std::erase_if(config.environment, [&](const std::string& e) { return name_of(e) == name; });
    config.environment.push_back(value);
  }
  return absl::OkStatus();
}

absl::Status LayLimits(const PolicyOptions& options, ProfileConfig& config) {
  const auto size = [](std::string_view option, const std::string& value,
                       std::optional<std::uint64_t>& limit) -> absl::Status {
    if (value.empty()) return absl::OkStatus();
    const auto bytes = ParseSize(value);
    if (!bytes.ok()) return Blame(option, value, bytes.status());
    limit = *bytes;
    return absl::OkStatus();
  };
  if (absl::Status s = size("--memory", options.memory, config.limits.memory_bytes); !s.ok())
    return s;
  if (absl::Status s = size("--file-size", options.file_size, config.limits.file_size_bytes);
      !s.ok()) {
    return s;
  }
  if (!options.pids.empty()) {
    const auto count = ParseCount(options.pids, 1U << 22);
    if (!count.ok()) return Blame("--pids", options.pids, count.status());
    config.limits.processes = *count;
  }
  if (!options.cpu_time.empty()) {
    const auto time = ParseDuration(options.cpu_time);
    if (!time.ok()) return Blame("--cpu-time", options.cpu_time, time.status());
    config.limits.cpu_time = *time;
  }
  return absl::OkStatus();
}

absl::Status LayHomeAndRequirements(const PolicyOptions& options, ProfileConfig& config) {
  if (options.home == "isolated") {
    config.home = HomeMode::kIsolated;
  } else if (options.home == "real") {
    config.home = HomeMode::kReal;
  } else if (!options.home.empty()) {
    return MakeError(ErrorCode::kInvalidOption,
                     absl::StrFormat("--home '%s': it is isolated or real", options.home));
  }
  for (const std::string& name : options.require) {
    const auto guarantee = GuaranteeFromName(name);
    if (!guarantee) {
      std::vector<std::string> names;
      for (const std::string_view known : AllGuaranteeNames()) names.emplace_back(known);
      return MakeError(ErrorCode::kInvalidOption,
                       absl::StrFormat("--require '%s': no such guarantee, there are %s", name,
                                       absl::StrJoin(names, ", ")));
    }
    config.required_guarantees = GuaranteesFromBits(static_cast<std::uint8_t>(
        GuaranteesToBits(config.required_guarantees) | GuaranteesToBits(*guarantee)));
  }
  return absl::OkStatus();
}

absl::StatusOr<Profile> UnderCeiling(const Profile& base, const std::string& file) {
  auto config = LoadProfileFile(file);
  if (!config.ok()) return Annotate(config.status(), "--ceiling");
  config->workspace_root = base.Settings().workspace_root;
  const auto ceiling = Profile::Create(*config);
  if (!ceiling.ok()) return Annotate(ceiling.status(), "--ceiling");
  return Restrict(base, *ceiling);
}

}  // namespace

void AddPolicyOptions(CLI::App& app, PolicyOptions& options) {
  const std::string group = "Policy";
  app.option_defaults()->group(group);
  app.add_option("-w,--workspace", options.workspace, "The workspace root (the current folder)")
      ->type_name("DIR");
  app.add_option("-p,--profile", options.profile, "A profile in JSON; other options go over it")
      ->type_name("FILE");
  app.add_option_function<std::string>(
         "--preset",
         [&options](const std::string& name) {
           options.preset = name;
           options.preset_given = true;
         },
         "read-only, workspace (the default) or trusted")
      ->type_name("NAME");
  app.add_option("--ceiling", options.ceiling, "A second profile that the first cannot exceed")
      ->type_name("FILE");
  AddRepeatable(app, "--read", options.read, "Allow reading a path, a folder with its tree",
                "PATH");
  AddRepeatable(app, "--write", options.write, "Allow reading and writing a path", "PATH");
  AddRepeatable(app, "--deny-read", options.deny_read, "Hide what matches; wins over allows",
                "GLOB");
  AddRepeatable(app, "--deny-write", options.deny_write, "Keep what matches from changing", "GLOB");
  AddRepeatable(app, "--net", options.net,
                "Allow a TCP target; *.NAME for subdomains, 10.0.0.0/8 for a range", "HOST:PORT");
  app.add_flag("--net-any", options.net_any, "Do not confine the network");
  AddRepeatable(app, "--resolve", options.resolve, "For tests: dial ADDRESS for that target",
                "NAME:PORT=ADDRESS:PORT");
  AddRepeatable(app, "--host-port", options.host_port, "The host's 127.0.0.1:PORT, inside", "PORT");
  AddRepeatable(app, "--publish", options.publish, "The command's PORT, on the host", "PORT");
  AddRepeatable(app, "--unix-socket", options.unix_socket, "One host socket, inside", "PATH");
  AddRepeatable(app, "--env", options.env, "Pass a variable, or set it", "NAME[=VALUE]");
  app.add_option("--home", options.home, "isolated (the default) or real")->type_name("MODE");
  app.add_option("--memory", options.memory, "Memory limit")->type_name("SIZE");
  app.add_option("--pids", options.pids, "Limit of processes")->type_name("N");
  app.add_option("--cpu-time", options.cpu_time, "CPU time limit")->type_name("DURATION");
  app.add_option("--file-size", options.file_size, "Largest file")->type_name("SIZE");
  AddRepeatable(app, "--require", options.require, "Start only if this guarantee holds", "NAME");
  app.option_defaults()->group("Options");
}

absl::StatusOr<Profile> BuildProfile(const PolicyOptions& options) {
  auto config = BaseConfig(options);
  if (!config.ok()) return config.status();
  for (const auto& lay :
       {LayRoots, LayDenies, LayNetwork, LayEnvironment, LayLimits, LayHomeAndRequirements}) {
    if (absl::Status status = lay(options, *config); !status.ok()) return status;
  }
  auto profile = Profile::Create(*config);
  if (!profile.ok() || options.ceiling.empty()) return profile;
  return UnderCeiling(*profile, options.ceiling);
}

}  // namespace cordon::cli
