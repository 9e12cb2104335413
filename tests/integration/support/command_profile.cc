#include "integration/support/command_profile.h"

#include "integration/support/cordon_run.h"
#include "support/catch.h"

namespace cordon::test {

using nlohmann::json;

json CommandProfileJson(const Ground& ground, const std::string& access) {
  const CordonRun run = RunCordon(ground, {"profile", "show", "-w", ground.workspace()});
  json shown = json::parse(run.out, nullptr, false);
  REQUIRE(shown.is_object());
  if (shown.contains("profile")) shown = shown["profile"];
  shown.erase("fingerprint");
  shown["command"] = access;
  return shown;
}

std::string CommandProfile(const Ground& ground, const std::string& access) {
  return ground.MakeFile(ground.root() + "/" + access + ".json",
                         CommandProfileJson(ground, access).dump());
}

}  // namespace cordon::test
