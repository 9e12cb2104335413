#include "arguments.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "argument_members.h"
#include "cordon/sdk/status.h"
#include "strict_json.h"

namespace cordon::internal {
namespace {

using nlohmann::json;
using Names = MemberNameList;

constexpr char kSchemaFormat[] = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "command": {
      "type": "string", "minLength": 1, "maxLength": %d,
      "description": "shell text"
    },
    "workdir": {
      "type": "string", "minLength": 1,
      "description": "the folder to start in, absolute or relative to the workspace; stays for later calls"
    },
    "timeout_ms": {"type": "integer", "minimum": 1, "maximum": %d, "default": %d},%s
    "description": {
      "type": "string", "minLength": 1, "maxLength": %d,
      "description": "one sentence for the person who may be asked"
    },
    "access": {
      "type": "array", "maxItems": %d,
      "description": "what this command needs beyond what is always allowed",
      "items": {
        "oneOf": [
          {
            "type": "object",
            "properties": {
              "kind": {"const": "network"},
              "target": {"type": "string", "description": "HOST:PORT, one host and one port"}
            },
            "required": ["kind", "target"],
            "additionalProperties": false
          },
          {
            "type": "object",
            "properties": {
              "kind": {"enum": ["filesystem.read", "filesystem.write"]},
              "path": {"type": "string", "minLength": 1},
              "tree": {
                "type": "boolean", "default": false,
                "description": "the folder and everything below it"
              }
            },
            "required": ["kind", "path"],
            "additionalProperties": false
          }
        ]
      }
    }
  },
  "required": ["command"],
  "additionalProperties": false
})json";

constexpr char kBackgroundSchema[] = R"json(
    "background": {
      "type": "boolean", "default": false,
      "description": "return at once with a handle; the time limit, when given, is the job's"
    },)json";

const Names& MemberNames() {
  static const Names names = {"command",     "workdir",    "timeout_ms",
                              "description", "background", "access"};
  return names;
}

absl::StatusOr<std::string> ParseCommandText(const json& object) {
  absl::StatusOr<std::string> command = TextMember(object, "command", "");
  if (command.ok() && command->size() > kMaxCommandBytes) {
    return Refuse(
        "\"command\" has %d bytes and the system passes at most %d: write the long part to a file "
        "in several calls first",
        command->size(), kMaxCommandBytes);
  }
  if (command.ok() && command->find_first_not_of(" \t\r\n") == std::string::npos) {
    return Refuse("\"command\" is only white space");
  }
  return command;
}

absl::StatusOr<std::chrono::milliseconds> ParseTimeout(const json& value,
                                                       std::chrono::milliseconds max_timeout) {
  if (!value.is_number_integer()) {
    return Refuse("\"timeout_ms\" must be a whole number of milliseconds, not %s",
                  value.is_number() ? value.dump() : std::string(value.type_name()));
  }
  const bool positive = value.is_number_unsigned() && value.get<std::uint64_t>() > 0;
  if (!positive || value.get<std::uint64_t>() > static_cast<std::uint64_t>(max_timeout.count())) {
    return Refuse("\"timeout_ms\" is %s, but must lie between 1 and %d", value.dump(),
                  max_timeout.count());
  }
  return std::chrono::milliseconds(value.get<std::int64_t>());
}

absl::StatusOr<DeclaredAccess> ParseNetworkAccess(const json& entry, std::string_view where) {
  static const Names known = {"kind", "target"};
  if (absl::Status names = CheckMemberNames(entry, known, where); !names.ok()) return names;
  absl::StatusOr<std::string> text = TextMember(entry, "target", where);
  if (!text.ok()) return text.status();
  absl::StatusOr<NetworkTarget> target = ParseNetworkTarget(*text);
  if (!target.ok()) {
    return Refuse("%s\"target\" must be HOST:PORT: %s", where,
                  std::string(target.status().message()));
  }
  if (IsPattern(*target)) {
    return Refuse("%s\"target\" must name one host and one port, not %s", where, *text);
  }
  return DeclaredAccess(*std::move(target));
}

absl::StatusOr<DeclaredAccess> ParsePathAccess(const json& entry, CapabilityKind kind,
                                               std::string_view where) {
  static const Names known = {"kind", "path", "tree"};
  if (absl::Status names = CheckMemberNames(entry, known, where); !names.ok()) return names;
  absl::StatusOr<std::string> path = TextMember(entry, "path", where);
  if (!path.ok()) return path.status();
  DeclaredPath declared{kind, PathShape::kExact, *std::move(path)};
  if (const auto tree = entry.find("tree"); tree != entry.end()) {
    if (!tree->is_boolean()) {
      return Refuse("%s\"tree\" must be true (the folder and all below it) or false", where);
    }
    if (tree->get<bool>()) declared.shape = PathShape::kTree;
  }
  return DeclaredAccess(std::move(declared));
}

absl::StatusOr<DeclaredAccess> ParseAccessEntry(const json& entry, std::string_view where) {
  static const Names kinds = {"network", "filesystem.read", "filesystem.write"};
  if (!entry.is_object()) return Refuse("%smust be an object, not %s", where, entry.type_name());
  absl::StatusOr<std::string> kind_name = TextMember(entry, "kind", where);
  if (!kind_name.ok()) return kind_name.status();
  if (std::find(kinds.begin(), kinds.end(), *kind_name) == kinds.end()) {
    return Refuse("%sunknown kind \"%s\"; the nearest is \"%s\"", where, *kind_name,
                  NearestName(*kind_name, kinds));
  }
  if (*kind_name == "network") return ParseNetworkAccess(entry, where);
  const bool write = *kind_name == "filesystem.write";
  return ParsePathAccess(
      entry, write ? CapabilityKind::kFilesystemWrite : CapabilityKind::kFilesystemRead, where);
}

absl::StatusOr<std::vector<DeclaredAccess>> ParseAccess(const json& value) {
  if (!value.is_array()) return Refuse("\"access\" must be an array, not %s", value.type_name());
  if (value.size() > kMaxDeclaredAccess) {
    return Refuse("\"access\" has %d entries, at most %d are possible", value.size(),
                  kMaxDeclaredAccess);
  }
  std::vector<DeclaredAccess> access;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string where = absl::StrFormat("access[%d]: ", i);
    absl::StatusOr<DeclaredAccess> entry = ParseAccessEntry(value[i], where);
    if (!entry.ok()) return entry.status();
    if (std::find(access.begin(), access.end(), *entry) != access.end()) {
      return Refuse("%srepeats an earlier entry", where);
    }
    access.push_back(*std::move(entry));
  }
  return access;
}

// Fills in what `object` has of the optional members.
absl::Status ParseOptionalMembers(const json& object, std::chrono::milliseconds max_timeout,
                                  BashArguments& arguments) {
  if (object.contains("workdir")) {
    absl::StatusOr<std::string> workdir = TextMember(object, "workdir", "");
    if (!workdir.ok()) return workdir.status();
    arguments.workdir = *std::move(workdir);
  }
  if (const auto member = object.find("timeout_ms"); member != object.end()) {
    absl::StatusOr<std::chrono::milliseconds> timeout = ParseTimeout(*member, max_timeout);
    if (!timeout.ok()) return timeout.status();
    arguments.timeout = *timeout;
  }
  if (object.contains("description")) {
    absl::StatusOr<std::string> description = TextMember(object, "description", "");
    if (!description.ok()) return description.status();
    if (description->size() > kMaxDescriptionBytes) {
      return Refuse("\"description\" has %d bytes, at most %d are shown", description->size(),
                    kMaxDescriptionBytes);
    }
    arguments.description = *std::move(description);
  }
  const absl::StatusOr<bool> background = FlagMember(object, "background", false);
  if (!background.ok()) return background.status();
  arguments.background = *background;
  if (const auto member = object.find("access"); member != object.end()) {
    absl::StatusOr<std::vector<DeclaredAccess>> access = ParseAccess(*member);
    if (!access.ok()) return access.status();
    arguments.access = *std::move(access);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<BashArguments> ParseBashArguments(std::string_view json_text,
                                                 std::chrono::milliseconds max_timeout) {
  if (json_text.size() > kMaxArgumentsBytes) {
    return Refuse("the arguments have %d bytes, at most %d are possible", json_text.size(),
                  kMaxArgumentsBytes);
  }
  absl::StatusOr<json> object = ParseStrictObject(json_text);
  if (!object.ok()) return object.status();
  if (absl::Status names = CheckMemberNames(*object, MemberNames(), ""); !names.ok()) return names;

  BashArguments arguments;
  absl::StatusOr<std::string> command = ParseCommandText(*object);
  if (!command.ok()) return command.status();
  arguments.command = *std::move(command);
  if (absl::Status rest = ParseOptionalMembers(*object, max_timeout, arguments); !rest.ok()) {
    return rest;
  }
  return arguments;
}

std::string BashArgumentsSchema(std::chrono::milliseconds default_timeout,
                                std::chrono::milliseconds max_timeout, bool has_jobs) {
  return absl::StrFormat(kSchemaFormat, kMaxCommandBytes, max_timeout.count(),
                         default_timeout.count(), has_jobs ? kBackgroundSchema : "",
                         kMaxDescriptionBytes, kMaxDeclaredAccess);
}

}  // namespace cordon::internal
