// Addresses of names, looked up beside the loop. Those who wait for the same name wait for the same
// look-up. Belongs to the loop's thread.

#ifndef CORDON_NET_PROXY_SRC_LOOKUPS_H_
#define CORDON_NET_PROXY_SRC_LOOKUPS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "event_loop.h"
#include "work_pool.h"

namespace cordon::internal::egress {

using LookupFunction = std::function<absl::StatusOr<std::vector<std::string>>(const std::string&)>;

// getaddrinfo(3) for streams. kUnavailable with its text.
[[nodiscard]] absl::StatusOr<std::vector<std::string>> LookUpAddresses(const std::string& name);

class Lookups {
 public:
  using Result = absl::StatusOr<std::vector<std::string>>;
  using Ticket = std::uint64_t;

  // `function` is called from other threads, also after this object is gone.
  Lookups(EventLoop& loop, LookupFunction function);

  // Calls `done` later, in the loop, unless it is cancelled.
  [[nodiscard]] Ticket Start(const std::string& name, std::function<void(const Result&)> done);
  void Cancel(Ticket ticket);

 private:
  struct Waiting {
    Ticket ticket;
    std::function<void(const Result&)> done;
  };
  void Finish(const std::string& name, const Result& result);

  static constexpr std::size_t kThreads = 32;
  EventLoop& loop_;
  LookupFunction function_;
  std::map<std::string, std::vector<Waiting>> waiting_;
  Ticket next_ticket_ = 1;
  std::shared_ptr<Lookups*> self_;  // So that a late answer finds out that nobody is here.
  WorkPool pool_;
};

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_LOOKUPS_H_
