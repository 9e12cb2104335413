// An index as bytes, to be kept between programs: index_cache.h. Pure.

#ifndef CORDON_SANDBOX_SRC_INDEX_IMAGE_H_
#define CORDON_SANDBOX_SRC_INDEX_IMAGE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "index_record.h"

namespace cordon::internal {

// Folders that were not listed to their end are left out, and so are trees whose changes would not
// show in their times. A folder that had changed less than `margin_ns` before it was listed is
// marked: it may have changed again without new times.
[[nodiscard]] std::string WriteIndexImage(const IndexTrees& trees, std::int64_t margin_ns);

// Strict: nothing but what `WriteIndexImage` can have written for a request of `patterns` patterns,
// with less memory than a small multiple of `bytes`. The times say how far each folder still holds.
[[nodiscard]] std::optional<IndexTrees> ReadIndexImage(std::string_view bytes,
                                                       std::size_t patterns);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_INDEX_IMAGE_H_
