// What the sessions of one proxy share.

#ifndef CORDON_NET_PROXY_SRC_CORE_H_
#define CORDON_NET_PROXY_SRC_CORE_H_

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cordon/net-proxy/proxy.h"
#include "event_loop.h"
#include "log_writer.h"
#include "lookups.h"
#include "relay.h"
#include "upstream_tls.h"
#include "work_pool.h"

namespace cordon::internal::egress {

struct Core {
  Core(EgressProxyOptions given, RouteResolver resolver, std::optional<TlsClient> tls_client,
       std::unique_ptr<EventLoop> event_loop)
      : options(std::move(given)),
        routes(std::move(resolver)),
        log(options.log),
        loop(std::move(event_loop)),
        tls(*loop, std::move(tls_client)),
        lookups(*loop, options.lookup != nullptr ? options.lookup : LookUpAddresses),
        askers(kAskers) {}
  // The thread ends before what it works with.
  ~Core() { loop.reset(); }
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // Each may wait for a person; four executions do not wait for each other's.
  static constexpr std::size_t kAskers = 4;

  const EgressProxyOptions options;
  const RouteResolver routes;
  LogWriter log;
  std::unique_ptr<EventLoop> loop;
  UpstreamTlsSet tls;    // The loop's thread only.
  Relay::Shared relays;  // The loop's thread only.
  Lookups lookups;       // The loop's thread only.
  WorkPool askers;
};

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_CORE_H_
