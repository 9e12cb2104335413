// The options of a subcommand, or only those of them that its arguments name: CLI11 compares every
// option with all before it, so that making forty costs a run of a command a fifth of a
// millisecond.

#ifndef CORDON_TOOLS_CLI_SRC_NAMED_OPTIONS_H_
#define CORDON_TOOLS_CLI_SRC_NAMED_OPTIONS_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"

namespace cordon::cli {

// Whether one of `arguments` may be the option with these names ("-w,--workspace"). True for more
// than that: any argument with one dash may name any option with one.
[[nodiscard]] bool MayBeNamed(std::string_view names, const std::vector<std::string>& arguments);

// Has the functions of CLI::App that add options, by the same names.
class NamedOptions {
 public:
  // All.
  explicit NamedOptions(CLI::App& app) : app_(app) {}
  // Those that `arguments` may name; null: all. `arguments` outlives this.
  NamedOptions(CLI::App& app, const std::vector<std::string>* arguments)
      : app_(app), arguments_(arguments) {}

  template <typename... Arguments>
  CLI::Option* add_option(const std::string& names, Arguments&&... arguments) {
    if (!IsNeeded(names)) return Unnamed();
    return app_.add_option(names, std::forward<Arguments>(arguments)...);
  }
  template <typename Value, typename... Arguments>
  CLI::Option* add_option_function(const std::string& names, Arguments&&... arguments) {
    if (!IsNeeded(names)) return Unnamed();
    return app_.add_option_function<Value>(names, std::forward<Arguments>(arguments)...);
  }
  template <typename... Arguments>
  CLI::Option* add_flag(const std::string& names, Arguments&&... arguments) {
    if (!IsNeeded(names)) return Unnamed();
    return app_.add_flag(names, std::forward<Arguments>(arguments)...);
  }
  CLI::OptionDefaults* option_defaults() { return app_.option_defaults(); }

 private:
  [[nodiscard]] bool IsNeeded(std::string_view names) const {
    return arguments_ == nullptr || MayBeNamed(names, *arguments_);
  }

  // To be told what kind of option it would be.
  CLI::Option* Unnamed() {
    if (unnamed_ == nullptr) unnamed_ = nowhere_.add_flag("--unnamed");
    return unnamed_;
  }

  CLI::App& app_;
  const std::vector<std::string>* const arguments_ = nullptr;
  CLI::App nowhere_;
  CLI::Option* unnamed_ = nullptr;
};

}  // namespace cordon::cli

#endif  // CORDON_TOOLS_CLI_SRC_NAMED_OPTIONS_H_
