#include "index_record.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace cordon::internal {
namespace {

bool IsObjectStore(std::string_view name) {
  return name == "objects" || name == "refs" || name == "logs" || name == "lfs";
}

}  // namespace

void FolderRecord::Complete(std::vector<Child> known, std::string_view path,
                            bool whole_repositories) {
  if (!whole_repositories && (is_repository() || BaseName(path) == ".git")) {
    std::erase_if(children, [](const Child& child) { return IsObjectStore(child.name); });
  }
  const auto by_name = [](const Child& a, const Child& b) { return a.name < b.name; };
  std::sort(children.begin(), children.end(), by_name);
  for (Child& old : known) {
    const auto found = std::lower_bound(children.begin(), children.end(), old, by_name);
    if (found != children.end() && found->name == old.name) found->record = std::move(old.record);
  }
}

bool FolderRecord::SetState(int error) {
  switch (error) {
    case 0:
      state = State::kListed;
      return true;
    case ENOENT:  // Gone or replaced since its name was read.
    case ENOTDIR:
    case ELOOP:
      state = State::kUnread;
      return true;
    case EXDEV:
      state = State::kOtherMount;
      return true;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      state = State::kUnread;
      return false;
  }
  state = State::kUnlisted;
  return true;
}

void FolderRecord::Clear() {
  findings.clear();
  children.clear();
  names = 0;
  has_head = has_objects = has_refs = false;
}

void FolderRecord::Forget() {
  Clear();
  state = State::kUnread;
  watch.Stop();
}

}  // namespace cordon::internal
