#include "mount_table.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace cordon::internal {
namespace {

// Space, tab, newline and backslash are written as three octal digits (proc(5)).
std::string Unescape(std::string_view text) {
  const auto is_octal = [](char c) { return c >= '0' && c <= '7'; };
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) && is_octal(text[i + 2]) &&
        is_octal(text[i + 3])) {
      result.push_back(static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                         (text[i + 3] - '0')));
      i += 3;
    } else {
      result.push_back(text[i]);
    }
  }
  return result;
}

constexpr std::array<std::string_view, 20> kLocalTypes = {
    "bcachefs", "btrfs",   "erofs", "exfat", "ext2",    "ext3",  "ext4",
    "f2fs",     "iso9660", "jfs",   "ntfs3", "overlay", "ramfs", "reiserfs",
    "squashfs", "tmpfs",   "udf",   "vfat",  "xfs",     "zfs"};

}  // namespace

MountTable MountTable::OfThisProcess() {
  std::ifstream file("/proc/self/mountinfo");
  std::ostringstream text;
  text << file.rdbuf();
  return Parse(text.str());
}

MountTable MountTable::Parse(std::string_view mountinfo) {
  MountTable table;
  const absl::string_view all(mountinfo.data(), mountinfo.size());
  for (const absl::string_view line : absl::StrSplit(all, '\n', absl::SkipEmpty())) {
    // 36 35 98:0 /root /mount/point options optional-fields... - type source options
    const std::vector<std::string> fields = absl::StrSplit(line, ' ');
    std::size_t separator = 6;
    while (separator < fields.size() && fields[separator] != "-") ++separator;
    if (separator + 1 >= fields.size()) continue;
    table.type_of_[Unescape(fields[4])] = fields[separator + 1];
  }
  return table;
}

bool MountTable::IsLocal(const std::string& path) const {
  const auto found = type_of_.find(path);
  return found != type_of_.end() &&
         std::find(kLocalTypes.begin(), kLocalTypes.end(), found->second) != kLocalTypes.end();
}

bool MountTable::HasLocally(std::string_view path) const {
  while (path.size() > 1) {
    const std::string place(path);
    if (type_of_.contains(place)) return IsLocal(place);
    path = path.substr(0, path.rfind('/'));
  }
  return true;
}

}  // namespace cordon::internal
