// Any bytes as a ClientHello: a complete one lies within them, and is not complete with less.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tls_hello.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using cordon::internal::egress::ClientHello;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const ClientHello hello = cordon::internal::egress::ParseClientHello(bytes, 16384);
  if (hello.state == ClientHello::State::kMalformed && hello.problem.empty()) std::abort();
  if (hello.state != ClientHello::State::kComplete) return 0;
  if (hello.size > size || hello.size == 0) std::abort();
  const ClientHello again =
      cordon::internal::egress::ParseClientHello(bytes.substr(0, hello.size), 16384);
  if (again.server_name != hello.server_name || again.size != hello.size) std::abort();
  const ClientHello less =
      cordon::internal::egress::ParseClientHello(bytes.substr(0, hello.size - 1), 16384);
  if (less.state == ClientHello::State::kComplete) std::abort();
  return 0;
}
