#include "name_call.h"

#include <fcntl.h>

#include <array>
#include <map>
#include <utility>

#include "directory_reader.h"
#include "seccomp_filter.h"
#include "syscall_policy.h"

namespace cordon::internal {
namespace {

using Kind = NameRequest::Kind;

// Places of arguments; -1: there is none.
struct Form {
  Kind kind;
  std::int8_t folder;
  std::int8_t path;
  std::int8_t value = -1;  // The mode or the flags.
  std::int8_t new_folder = -1;
  std::int8_t new_path = -1;
  std::int8_t text = -1;
};

constexpr const char* kNames[] = {"mkdir",    "mkdirat",   "symlink",  "symlinkat",
                                  "unlink",   "rmdir",     "unlinkat", "rename",
                                  "renameat", "renameat2", "link",     "linkat"};
constexpr Form kForms[] = {
    {Kind::kMakeFolder, -1, 0, 1},
    {Kind::kMakeFolder, 0, 1, 2},
    {Kind::kMakeLink, -1, 1, -1, -1, -1, 0},
    {Kind::kMakeLink, 1, 2, -1, -1, -1, 0},
    {Kind::kRemove, -1, 0},
    {Kind::kRemoveFolder, -1, 0},
    {Kind::kRemove, 0, 1, 2},
    {Kind::kRename, -1, 0, -1, -1, 1},
    {Kind::kRename, 0, 1, -1, 2, 3},
    {Kind::kRename, 0, 1, 4, 2, 3},
    {Kind::kLink, -1, 0, -1, -1, 1},
    {Kind::kLink, 0, 1, 4, 2, 3},
};
static_assert(std::size(kNames) == std::size(kForms));

const std::map<int, const Form*>& Forms() {
  static const std::map<int, const Form*> forms = [] {
    std::map<int, const Form*> by_number;
    for (std::size_t i = 0; i < std::size(kForms); ++i) {
      const int number = CallNumber(kNames[i], NativeArchitecture());
      if (number >= 0) by_number.emplace(number, &kForms[i]);
    }
    return by_number;
  }();
  return forms;
}

std::optional<std::string> ReadAbsolute(const Caller& caller, int folder, int place) {
  std::optional<std::string> path = caller.ReadPath(caller.argument(place));
  if (!path.has_value() || path->empty()) return std::nullopt;
  if (path->starts_with('/')) return path;
  const std::string from = caller.FolderPath(folder < 0 ? AT_FDCWD : caller.number(folder));
  if (from.empty()) return std::nullopt;
  return JoinPath(from, *path);
}

// They may follow the name of a folder.
NameRequest WithoutLastSlashes(NameRequest request) {
  if (request.kind == Kind::kMakeFolder || request.kind == Kind::kRemoveFolder) {
    while (request.path.size() > 1 && request.path.ends_with('/')) request.path.pop_back();
  }
  return request;
}

}  // namespace

std::span<const char* const> NameCalls() { return kNames; }

bool IsNameCall(int number) { return Forms().contains(number); }

std::optional<NameRequest> DecodeNameCall(const Caller& caller) {
  const auto found = Forms().find(caller.call_number());
  if (found == Forms().end()) return std::nullopt;
  const Form& form = *found->second;
  NameRequest request;
  request.kind = form.kind;
  std::optional<std::string> path = ReadAbsolute(caller, form.folder, form.path);
  if (!path.has_value()) return std::nullopt;
  request.path = *std::move(path);
  if (form.new_path >= 0) {
    std::optional<std::string> new_path = ReadAbsolute(caller, form.new_folder, form.new_path);
    if (!new_path.has_value()) return std::nullopt;
    request.new_path = *std::move(new_path);
  }
  if (form.text >= 0) {
    std::optional<std::string> text = caller.ReadPath(caller.argument(form.text));
    if (!text.has_value() || text->empty()) return std::nullopt;
    request.text = *std::move(text);
  }
  if (form.value < 0) return WithoutLastSlashes(std::move(request));
  const auto value = static_cast<unsigned>(caller.number(form.value));
  if (form.kind == Kind::kMakeFolder) {
    request.mode = static_cast<mode_t>(value) & 07777;
  } else if (form.kind == Kind::kRename) {
    request.flags = value;
  } else if (form.kind == Kind::kRemove && value == AT_REMOVEDIR) {
    request.kind = Kind::kRemoveFolder;
  } else if (value != 0) {
    return std::nullopt;
  }
  return WithoutLastSlashes(std::move(request));
}

bool EndsInName(const std::string& path) {
  const std::string_view last = BaseName(path);
  return !last.empty() && last != "." && last != "..";
}

}  // namespace cordon::internal
