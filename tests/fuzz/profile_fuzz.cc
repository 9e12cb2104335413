// The profile loader: whatever it accepts, it writes and reads back as the same, and makes a
// profile whose canonical form is stable, or refuses.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cordon/sdk/profile.h"
#include "cordon/sdk/profile_json.h"

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  absl::StatusOr<cordon::ProfileConfig> config = cordon::ParseProfileJson(text, "fuzz");
  if (!config.ok()) return 0;
  const absl::StatusOr<cordon::ProfileConfig> again =
      cordon::ParseProfileJson(cordon::ProfileToJson(*config), "again");
  Require(again.ok() && *again == *config);

  // A folder that every host has; the text's own hardly exists.
  config->workspace_root = "/usr";
  config->home_root = "/home/fuzz";
  const absl::StatusOr<cordon::Profile> profile = cordon::Profile::Create(*config);
  if (!profile.ok()) return 0;
  const absl::StatusOr<cordon::Profile> canonical = cordon::Profile::Create(profile->Settings());
  Require(canonical.ok() && *canonical == *profile);
  const absl::StatusOr<cordon::Profile> restricted = cordon::Restrict(*profile, *profile);
  Require(restricted.ok() && *restricted == *profile);
  return 0;
}
