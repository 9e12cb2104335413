#include "named_options.h"

#include <algorithm>

namespace cordon::cli {
namespace {

bool Names(std::string_view argument, std::string_view name) {
  const bool is_short = !name.starts_with("--");
  if (is_short) return argument.starts_with('-') && !argument.starts_with("--");
  return argument.starts_with(name) &&
         (argument.size() == name.size() || argument[name.size()] == '=');
}

}  // namespace

bool MayBeNamed(std::string_view names, const std::vector<std::string>& arguments) {
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(','), names.size());
    const std::string_view name = names.substr(0, end);
    if (std::any_of(arguments.begin(), arguments.end(),
                    [name](const std::string& argument) { return Names(argument, name); })) {
      return true;
    }
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return false;
}

}  // namespace cordon::cli
