// Any bytes as each of a SOCKS client's messages: a complete one lies within them.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cordon/sdk/network_target.h"
#include "socks5.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cordon::internal::egress;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const SocksGreeting greeting = ParseSocksGreeting(bytes);
  if (greeting.state == SocksState::kComplete && greeting.size > size) std::abort();
  const SocksPassword password = ParseSocksPassword(bytes);
  if (password.state == SocksState::kComplete && password.size > size) std::abort();
  const SocksRequest request = ParseSocksRequest(bytes);
  if (request.state != SocksState::kComplete) return 0;
  if (request.size > size) std::abort();
  (void)cordon::ParseNetworkTarget(request.target);
  return 0;
}
