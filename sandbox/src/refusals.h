// What was refused to one command, gathered while it runs.

#ifndef CORDON_SANDBOX_SRC_REFUSALS_H_
#define CORDON_SANDBOX_SRC_REFUSALS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cordon/sdk/denial.h"

namespace cordon::internal {

// Bounded, whatever the command tries. Safe from any thread.
class Refusals {
 public:
  static constexpr std::size_t kMaxTargets = 256;

  // Counts one more of `kind` at `target`; `describe` gives the rest when it is the first one.
  void Add(const std::string& kind, const std::string& target,
           const std::function<void(Denial&)>& describe);

  // In the order of their first appearance.
  [[nodiscard]] std::vector<Denial> All() const;
  // Those of targets beyond `kMaxTargets`.
  [[nodiscard]] std::uint64_t left_out() const;

 private:
  mutable std::mutex mutex_;
  std::vector<Denial> denials_;
  std::map<std::pair<std::string, std::string>, std::size_t> places_;
  std::uint64_t left_out_ = 0;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_REFUSALS_H_
