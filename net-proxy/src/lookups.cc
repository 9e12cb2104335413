#include "lookups.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_format.h"
#include "cordon/sdk/status.h"
#include "endpoint.h"

namespace cordon::internal::egress {

absl::StatusOr<std::vector<std::string>> LookUpAddresses(const std::string& name) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* list = nullptr;
  // Without a dot at its end, which would hide the entries of /etc/hosts: a name leads where it
  // leads every program of this host.
  const int failed = getaddrinfo(name.c_str(), nullptr, &hints, &list);
  if (failed != 0) {
    return MakeError(ErrorCode::kUnavailable,
                     absl::StrFormat("cannot look up %s: %s", name, gai_strerror(failed)));
  }
  std::vector<std::string> addresses;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    SocketAddress address;
    if (entry->ai_addrlen > sizeof address.storage) continue;
    std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
    addresses.push_back(FromSocketAddress(address).ip.Text());
  }
  freeaddrinfo(list);
  return addresses;
}

Lookups::Lookups(EventLoop& loop, LookupFunction function)
    : loop_(loop),
      function_(std::move(function)),
      self_(std::make_shared<Lookups*>(this)),
      pool_(kThreads) {}

Lookups::Ticket Lookups::Start(const std::string& name, std::function<void(const Result&)> done) {
  const Ticket ticket = next_ticket_++;
  const auto [entry, is_new] = waiting_.try_emplace(name);
  entry->second.push_back({ticket, std::move(done)});
  if (!is_new) return ticket;
  pool_.Submit(
      [name, function = function_, tasks = loop_.tasks(), self = std::weak_ptr<Lookups*>(self_)] {
        Result result = function(name);
        tasks->Post([name, result = std::move(result), self] {
          if (const auto lookups = self.lock()) (*lookups)->Finish(name, result);
        });
      });
  return ticket;
}

void Lookups::Cancel(Ticket ticket) {
  // The list stays, also empty: its look-up is still on its way.
  for (auto& [name, list] : waiting_) {
    std::erase_if(list, [ticket](const Waiting& waiting) { return waiting.ticket == ticket; });
  }
}

void Lookups::Finish(const std::string& name, const Result& result) {
  const auto found = waiting_.find(name);
  if (found == waiting_.end()) return;
  while (!found->second.empty()) {
    // One at a time: a callback may cancel others of the list.
    const std::function<void(const Result&)> done = std::move(found->second.back().done);
    found->second.pop_back();
    done(result);
  }
  waiting_.erase(found);
}

}  // namespace cordon::internal::egress
