// A kept index, as if its signature had been right: never out of bounds, and what is read can be
// written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "index_image.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cordon::internal;
  constexpr std::size_t kPatterns = 3;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::optional<IndexTrees> trees = ReadIndexImage(bytes, kPatterns);
  if (!trees.has_value()) return 0;
  for (const auto& [path, tree] : *trees) tree->keeps_times = true;
  const std::string again = WriteIndexImage(*trees, 0);
  const std::optional<IndexTrees> twice = ReadIndexImage(again, kPatterns);
  if (!twice.has_value() || twice->size() != trees->size()) std::abort();
  return 0;
}
