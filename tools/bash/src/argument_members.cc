#include "argument_members.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "absl/strings/str_join.h"

namespace cordon::internal {
namespace {

using nlohmann::json;
using Names = MemberNameList;

std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
    }
  }
  return row.back();
}

// What other tools call our members.
std::string_view Synonym(std::string_view word) {
  for (const std::string_view name : {"cwd", "dir", "directory", "working_directory"}) {
    if (word == name) return "workdir";
  }
  for (const std::string_view name : {"script", "code", "shell"}) {
    if (word == name) return "command";
  }
  return word;
}

}  // namespace

std::string_view NearestName(std::string_view word, const Names& known) {
  word = Synonym(word);
  const auto cost = [word](std::string_view name) {
    if (!word.empty() && (name.starts_with(word) || word.starts_with(name))) return std::size_t{0};
    return EditDistance(word.substr(0, 64), name);
  };
  return *std::min_element(known.begin(), known.end(),
                           [&cost](auto a, auto b) { return cost(a) < cost(b); });
}

absl::Status CheckMemberNames(const json& object, const Names& known, std::string_view where) {
  for (const auto& [name, value] : object.items()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return Refuse("%sunknown member \"%s\"; the nearest is \"%s\" (known: %s)", where, name,
                  NearestName(name, known),
                  absl::StrJoin(known, ", ", [](std::string* out, auto n) { out->append(n); }));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> TextMember(const json& object, std::string_view name,
                                       std::string_view where) {
  const auto member = object.find(name);
  if (member == object.end()) return Refuse("%s\"%s\" is missing", where, name);
  if (!member->is_string()) {
    return Refuse("%s\"%s\" must be a string, not %s", where, name, member->type_name());
  }
  const std::string& text = member->get_ref<const std::string&>();
  if (text.empty()) return Refuse("%s\"%s\" is empty", where, name);
  if (text.find('\0') != std::string::npos) {
    return Refuse("%s\"%s\" holds a NUL character, which the system cannot pass", where, name);
  }
  return text;
}

absl::StatusOr<bool> FlagMember(const json& object, std::string_view name, bool fallback) {
  const auto member = object.find(name);
  if (member == object.end()) return fallback;
  if (!member->is_boolean()) return Refuse("\"%s\" must be true or false", name);
  return member->get<bool>();
}

absl::StatusOr<std::uint64_t> NumberMember(const json& object, std::string_view name,
                                           std::uint64_t fallback, std::uint64_t most) {
  const auto member = object.find(name);
  if (member == object.end()) return fallback;
  if (!member->is_number_unsigned() || member->get<std::uint64_t>() > most) {
    return Refuse("\"%s\" must be a whole number from 0 to %d, not %s", name, most, member->dump());
  }
  return member->get<std::uint64_t>();
}

}  // namespace cordon::internal
