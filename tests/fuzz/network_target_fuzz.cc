// Any text: what is read as a target has one spelling, which is read as the same target.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cordon/sdk/network_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto target = cordon::ParseNetworkTarget(text);
  if (!target.ok()) return 0;
  const auto again = cordon::ParseNetworkTarget(cordon::NetworkTargetText(*target));
  if (!again.ok() || *again != *target || !cordon::Covers(*target, *again)) std::abort();
  return 0;
}
