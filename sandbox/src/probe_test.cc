#include "cordon/sandbox/probe.h"

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "support/catch.h"

namespace cordon {
namespace {

const HostProbe& Probed() { return ProbeHost(std::filesystem::temp_directory_path()); }

TEST_CASE("the probe names each layer once, says what its absence costs and how to get it") {
  const HostProbe& probe = Probed();
  for (const LayerProbe& layer : probe.layers) {
    std::cout << layer.layer << ": " << (layer.ok ? "ok" : layer.step + ": " + layer.fix) << '\n';
    INFO(layer.layer);
    CHECK_FALSE(layer.without.empty());
    CHECK(layer.ok == layer.fix.empty());
    CHECK(layer.ok == layer.step.empty());
    CHECK(std::count_if(probe.layers.begin(), probe.layers.end(),
                        [&layer](const LayerProbe& l) { return l.layer == layer.layer; }) == 1);
  }
}

TEST_CASE("the namespaces tier is chosen exactly when every layer but landlock could be built") {
  const HostProbe& probe = Probed();
  const bool all =
      std::all_of(probe.layers.begin(), probe.layers.end(),
                  [](const LayerProbe& layer) { return layer.ok || layer.layer == "landlock"; });
  CHECK((probe.tier == Tier::kNamespaces) == all);
}

TEST_CASE("a second call gives the same result") { CHECK(&Probed() == &Probed()); }

}  // namespace
}  // namespace cordon
