#include "cordon/sdk/profile_json.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/network_target.h"
#include "cordon/sdk/path_policy.h"
#include "cordon/sdk/status.h"
#include "cordon/sdk/unique_fd.h"
#include "json_document.h"
#include "json_reader.h"
#include "profile_canonical.h"

namespace cordon {
namespace {

using internal::JsonReader;
using internal::JsonSource;
using internal::JsonValue;
using Kind = JsonValue::Kind;

constexpr std::size_t kMaxFileBytes = 1U << 20U;
constexpr std::uint64_t kFormatVersion = 1;

template <typename T>
using Enumerators = std::vector<std::pair<std::string_view, T>>;

const Enumerators<Access>& AccessNames() {
  static const Enumerators<Access> names = {{AccessName(Access::kDeny), Access::kDeny},
                                            {AccessName(Access::kGated), Access::kGated},
                                            {AccessName(Access::kAllow), Access::kAllow}};
  return names;
}

const Enumerators<NetworkRoute>& RouteNames() {
  static const Enumerators<NetworkRoute> names = {{"direct", NetworkRoute::kDirect},
                                                  {"environment", NetworkRoute::kEnvironment}};
  return names;
}

const Enumerators<HomeMode>& HomeNames() {
  static const Enumerators<HomeMode> names = {{"isolated", HomeMode::kIsolated},
                                              {"real", HomeMode::kReal}};
  return names;
}

const Enumerators<Isolation>& IsolationNames() {
  static const Enumerators<Isolation> names = {{"sandboxed", Isolation::kSandboxed},
                                               {"unconfined", Isolation::kUnconfined}};
  return names;
}

const Enumerators<AuditMode>& AuditNames() {
  static const Enumerators<AuditMode> names = {{"optional", AuditMode::kOptional},
                                               {"required", AuditMode::kRequired},
                                               {"durable", AuditMode::kDurable}};
  return names;
}

template <typename T>
std::string NameIn(const Enumerators<T>& enumerators, T value) {
  for (const auto& [name, candidate] : enumerators) {
    if (candidate == value) return std::string(name);
  }
  return "unknown";
}

absl::Status Wrong(std::string_view what) { return MakeError(ErrorCode::kInvalidProfile, what); }

absl::Status CheckDeny(const std::string& entry) {
  if (entry.empty()) return Wrong("an empty entry");
  return IsGlob(entry) ? ValidateGlob(entry) : absl::OkStatus();
}

absl::Status CheckTarget(const std::string& text) { return ParseNetworkTarget(text).status(); }

absl::Status CheckVariable(const std::string& entry) { return internal::ValidateVariable(entry); }

absl::Status CheckAbsolute(const std::string& path) {
  return path.starts_with('/')
             ? absl::OkStatus()
             : Wrong(absl::StrFormat("\"%s\" is no absolute path", EscapeForDisplay(path)));
}

void ReadStrings(JsonReader& reader, std::string_view key,
                 absl::Status (*check)(const std::string&), std::vector<std::string>& into) {
  reader.ReadList(key, Kind::kString, [check, &into](const JsonValue& item) {
    into.push_back(item.string);
    return check(item.string);
  });
}

void ReadPorts(JsonReader& reader, std::string_view key, std::vector<std::uint16_t>& into) {
  reader.ReadList(key, Kind::kUnsigned, [&into](const JsonValue& item) {
    if (item.number == 0 || item.number > 65535) return Wrong("a port is 1 to 65535");
    into.push_back(static_cast<std::uint16_t>(item.number));
    return absl::OkStatus();
  });
}

void ReadRoots(JsonReader& reader, const JsonSource& source, std::vector<AdditionalRoot>& into) {
  reader.ReadList("additional_roots", Kind::kObject, [&source, &into](const JsonValue& item) {
    AdditionalRoot root;
    JsonReader members(source, item);
    members.Require("path");
    members.ReadString("path", root.path);
    members.ReadEnum("read", AccessNames(), root.read);
    members.ReadEnum("write", AccessNames(), root.write);
    into.push_back(std::move(root));
    return members.Finish();
  });
}

void ReadLimits(JsonReader& reader, const JsonSource& source, Limits& limits) {
  reader.ReadObject("limits", [&source, &limits](const JsonValue& object) {
    std::optional<std::uint64_t> cpu_time_ms;
    JsonReader members(source, object);
    members.ReadCount("memory_bytes", limits.memory_bytes);
    members.ReadCount("processes", limits.processes);
    members.ReadCount("cpu_time_ms", cpu_time_ms);
    members.ReadCount("file_size_bytes", limits.file_size_bytes);
    // More than the type holds is more than any command lives.
    if (cpu_time_ms.has_value()) {
      constexpr std::uint64_t kLongest = std::chrono::milliseconds::max().count();
      limits.cpu_time = std::chrono::milliseconds(std::min(*cpu_time_ms, kLongest));
    }
    return members.Finish();
  });
}

void ReadGuarantees(JsonReader& reader, Guarantees& guarantees) {
  reader.ReadList("required_guarantees", Kind::kString, [&guarantees](const JsonValue& item) {
    const std::optional<Guarantees> one = GuaranteeFromName(item.string);
    if (!one.has_value()) {
      return Wrong(absl::StrFormat("there is no guarantee \"%s\"", EscapeForDisplay(item.string)));
    }
    guarantees = GuaranteesFromBits(
        static_cast<std::uint8_t>(GuaranteesToBits(guarantees) | GuaranteesToBits(*one)));
    return absl::OkStatus();
  });
}

absl::StatusOr<ProfileConfig> ReadProfile(const JsonSource& source, const JsonValue& object) {
  ProfileConfig config;
  std::string schema;
  std::optional<std::uint64_t> version;
  bool unconfined = false;
  bool tracing = false;
  bool nested_namespaces = false;
  JsonReader reader(source, object);
  reader.ReadString("$schema", schema);
  reader.ReadCount("version", version);
  reader.ReadString("workspace_root", config.workspace_root);
  reader.ReadEnum("workspace_read", AccessNames(), config.workspace_read);
  reader.ReadEnum("workspace_write", AccessNames(), config.workspace_write);
  reader.ReadEnum("host_read", AccessNames(), config.host_read);
  reader.ReadEnum("host_write", AccessNames(), config.host_write);
  reader.ReadEnum("network", AccessNames(), config.network);
  reader.ReadEnum("command", AccessNames(), config.command);
  reader.ReadEnum("home", HomeNames(), config.home);
  reader.ReadString("home_root", config.home_root);
  reader.ReadEnum("isolation", IsolationNames(), config.isolation);
  reader.ReadBoolean("ack_unconfined", unconfined);
  reader.ReadBoolean("ack_tracing", tracing);
  reader.ReadBoolean("ack_nested_namespaces", nested_namespaces);
  ReadRoots(reader, source, config.additional_roots);
  ReadStrings(reader, "deny_read", CheckDeny, config.deny_read);
  ReadStrings(reader, "deny_write", CheckDeny, config.deny_write);
  reader.ReadBoolean("protect_paths", config.protect_paths);
  ReadStrings(reader, "environment", CheckVariable, config.environment);
  ReadStrings(reader, "network_targets", CheckTarget, config.network_targets);
  reader.ReadEnum("network_route", RouteNames(), config.network_route);
  ReadPorts(reader, "loopback_ports", config.loopback_ports);
  ReadPorts(reader, "publish_ports", config.publish_ports);
  ReadStrings(reader, "unix_sockets", CheckAbsolute, config.unix_sockets);
  ReadLimits(reader, source, config.limits);
  reader.ReadEnum("audit", AuditNames(), config.audit);
  ReadGuarantees(reader, config.required_guarantees);
  if (const absl::Status status = reader.Finish(); !status.ok()) return status;
  if (version.value_or(kFormatVersion) != kFormatVersion) {
    return internal::JsonErrorAt(
        source, object.offset,
        absl::StrFormat("\"version\" %d is not known, this cordon reads %d", *version,
                        kFormatVersion));
  }
  if (unconfined) {
    config.ack_unconfined = UnconfinedAcknowledgement::CommandsRunWithMyFullAuthority();
  }
  if (tracing) config.ack_tracing = TracingAcknowledgement::ProcessesMaySteerEachOther();
  if (nested_namespaces) {
    config.ack_nested_namespaces =
        NestedNamespacesAcknowledgement::CommandsMayReachMoreOfTheKernel();
  }
  return config;
}

absl::Status Unreadable(const std::string& path, std::string_view why) {
  return Wrong(absl::StrFormat("cannot read the profile %s: %s", EscapeForDisplay(path), why));
}

nlohmann::ordered_json RootsAsJson(const std::vector<AdditionalRoot>& roots) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const AdditionalRoot& root : roots) {
    nlohmann::ordered_json entry;
    entry["path"] = root.path;
    entry["read"] = NameIn(AccessNames(), root.read);
    entry["write"] = NameIn(AccessNames(), root.write);
    list.push_back(std::move(entry));
  }
  return list;
}

nlohmann::ordered_json LimitsAsJson(const Limits& limits) {
  const auto number = [](const std::optional<std::uint64_t>& limit) {
    return limit.has_value() ? nlohmann::ordered_json(*limit) : nlohmann::ordered_json();
  };
  nlohmann::ordered_json object;
  object["memory_bytes"] = number(limits.memory_bytes);
  object["processes"] = number(limits.processes);
  object["cpu_time_ms"] =
      number(limits.cpu_time.has_value() ? std::optional<std::uint64_t>(limits.cpu_time->count())
                                         : std::nullopt);
  object["file_size_bytes"] = number(limits.file_size_bytes);
  return object;
}

nlohmann::ordered_json GuaranteesAsJson(const Guarantees& guarantees) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const std::string_view name : GuaranteeNames(guarantees)) list.push_back(std::string(name));
  return list;
}

}  // namespace

absl::StatusOr<ProfileConfig> ParseProfileJson(std::string_view text, std::string_view source) {
  const JsonSource where = {.text = text, .name = source};
  if (text.size() > kMaxFileBytes) {
    return internal::JsonErrorAt({.text = "", .name = source}, 0, "a profile has at most 1 MiB");
  }
  const absl::StatusOr<JsonValue> root = internal::ParseJson(where);
  if (!root.ok()) return root.status();
  if (root->kind != Kind::kObject) {
    return internal::JsonErrorAt(
        where, root->offset,
        absl::StrFormat("a profile is an object, not %s", internal::JsonKindName(root->kind)));
  }
  return ReadProfile(where, *root);
}

absl::StatusOr<ProfileConfig> LoadProfileFile(const std::string& path) {
  // Without O_NONBLOCK a fifo would wait for a writer.
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid()) return Unreadable(path, std::strerror(errno));
  struct stat info {};
  if (fstat(fd.get(), &info) != 0) return Unreadable(path, std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return Unreadable(path, "it is no regular file");
  // One byte more than allowed, to notice a file that is larger or grows.
  std::string text(kMaxFileBytes + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = read(fd.get(), text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Unreadable(path, std::strerror(errno));
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  text.resize(size);
  return ParseProfileJson(text, path);
}

std::string ProfileToJson(const ProfileConfig& config) {
  nlohmann::ordered_json json;
  json["version"] = kFormatVersion;
  json["workspace_root"] = config.workspace_root;
  json["workspace_read"] = NameIn(AccessNames(), config.workspace_read);
  json["workspace_write"] = NameIn(AccessNames(), config.workspace_write);
  json["host_read"] = NameIn(AccessNames(), config.host_read);
  json["host_write"] = NameIn(AccessNames(), config.host_write);
  json["network"] = NameIn(AccessNames(), config.network);
  json["command"] = NameIn(AccessNames(), config.command);
  json["home"] = NameIn(HomeNames(), config.home);
  json["home_root"] = config.home_root;
  json["isolation"] = NameIn(IsolationNames(), config.isolation);
  json["ack_unconfined"] = config.ack_unconfined.given();
  json["ack_tracing"] = config.ack_tracing.given();
  json["ack_nested_namespaces"] = config.ack_nested_namespaces.given();
  json["additional_roots"] = RootsAsJson(config.additional_roots);
  json["deny_read"] = config.deny_read;
  json["deny_write"] = config.deny_write;
  json["protect_paths"] = config.protect_paths;
  json["environment"] = config.environment;
  json["network_targets"] = config.network_targets;
  json["network_route"] = NameIn(RouteNames(), config.network_route);
  json["loopback_ports"] = config.loopback_ports;
  json["publish_ports"] = config.publish_ports;
  json["unix_sockets"] = config.unix_sockets;
  json["limits"] = LimitsAsJson(config.limits);
  json["audit"] = NameIn(AuditNames(), config.audit);
  json["required_guarantees"] = GuaranteesAsJson(config.required_guarantees);
  // Names on disk are bytes; what is not UTF-8 cannot be said in JSON and must not throw here.
  constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
  return json.dump(2, ' ', /*ensure_ascii=*/false, kReplace) + "\n";
}

}  // namespace cordon
