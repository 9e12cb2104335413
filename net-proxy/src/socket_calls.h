// The socket calls of the proxy, with EINTR retried and errors as statuses.

#ifndef CORDON_NET_PROXY_SRC_SOCKET_CALLS_H_
#define CORDON_NET_PROXY_SRC_SOCKET_CALLS_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cordon/sdk/unique_fd.h"
#include "endpoint.h"

namespace cordon::internal::egress {

// A non-blocking socket of the calling process's own network namespace.
[[nodiscard]] absl::StatusOr<UniqueFd> MakeHostSocket(int family, int type);

// Binds and, for streams, listens. `what` names the address in an error: kUnavailable with errno.
[[nodiscard]] absl::Status BindAndListen(int fd, const Endpoint& local, int type,
                                         std::string_view what);

// Starts a connect: 0, EINPROGRESS or another errno.
[[nodiscard]] int StartConnect(int fd, const Endpoint& peer);

// The errno that waits on a socket; 0 when none.
[[nodiscard]] int PendingError(int fd);

// recv(2) and send(2) without blocking or SIGPIPE. -1 with errno as there.
[[nodiscard]] ssize_t Receive(int fd, void* buffer, std::size_t size);
[[nodiscard]] ssize_t Send(int fd, const void* buffer, std::size_t size);

// The address that a connection was made to.
[[nodiscard]] Endpoint LocalEndpoint(int fd);
// The address that it was made from.
[[nodiscard]] Endpoint PeerEndpoint(int fd);

void SetNoDelay(int fd);
void SetKeepAlive(int fd);
// The next close sends a reset (socket(7), SO_LINGER).
void SetResetOnClose(int fd);

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_SOCKET_CALLS_H_
