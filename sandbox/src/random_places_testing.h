// Random folders below a root, the same sequence for the same seed.

#ifndef CORDON_SANDBOX_SRC_RANDOM_PLACES_TESTING_H_
#define CORDON_SANDBOX_SRC_RANDOM_PLACES_TESTING_H_

#include <cstdint>
#include <string>
#include <utility>

namespace cordon::internal::testing {

class RandomPlaces {
 public:
  // `folders`: how many there are directly in `root`, f0 and up.
  RandomPlaces(std::string root, std::uint32_t folders, std::uint32_t seed)
      : root_(std::move(root)), folders_(folders), state_(seed) {}

  [[nodiscard]] std::uint32_t Below(std::uint32_t limit) {
    state_ = state_ * 1664525 + 1013904223;
    return (state_ >> 8) % limit;
  }
  // One of these folders, or some place in it.
  [[nodiscard]] std::string Place() {
    std::string path = root_ + "/f" + std::to_string(Below(folders_));
    for (std::uint32_t depth = Below(3); depth > 0; --depth) path += Below(2) == 0 ? "/deep" : "/x";
    return path;
  }

 private:
  const std::string root_;
  const std::uint32_t folders_;
  std::uint32_t state_;
};

}  // namespace cordon::internal::testing

#endif  // CORDON_SANDBOX_SRC_RANDOM_PLACES_TESTING_H_
