// Where the command line keeps what can be found again at any time.

#ifndef CORDON_TOOLS_CLI_SRC_CACHE_FOLDER_H_
#define CORDON_TOOLS_CLI_SRC_CACHE_FOLDER_H_

#include <string>

namespace cordon::cli {

// `cordon` in $XDG_CACHE_HOME, else in $HOME/.cache (XDG Base Directory Specification), links
// resolved. Empty where neither names a place: nothing is kept.
[[nodiscard]] std::string CacheFolder();

}  // namespace cordon::cli

#endif  // CORDON_TOOLS_CLI_SRC_CACHE_FOLDER_H_
