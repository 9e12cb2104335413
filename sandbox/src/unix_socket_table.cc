#include "unix_socket_table.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "directory_reader.h"

namespace cordon::internal {
namespace {

// Num RefCount Protocol Flags Type St Inode, then the path.
constexpr int kFieldsBeforePath = 7;

std::string_view NextField(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::string_view field = line.substr(0, line.find(' '));
  line.remove_prefix(field.size());
  return field;
}

}  // namespace

UnixSocketTable UnixSocketTable::OfThisHost() {
  std::ifstream file("/proc/net/unix");
  std::ostringstream text;
  text << file.rdbuf();
  return Parse(text.str());
}

UnixSocketTable UnixSocketTable::Parse(std::string_view text) {
  UnixSocketTable table;
  table.known_ = text.starts_with("Num ");
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    for (int i = 0; i < kFieldsBeforePath; ++i) (void)NextField(line);
    if (line.size() < 2) continue;
    const std::string_view path = line.substr(1);
    if (path[0] == '@') continue;
    table.names_.emplace(BaseName(path));
    if (path[0] == '/') table.paths_.emplace(path);
  }
  return table;
}

bool UnixSocketTable::MayBeBound(std::string_view path) const {
  return !known_ || names_.contains(BaseName(path));
}

}  // namespace cordon::internal
