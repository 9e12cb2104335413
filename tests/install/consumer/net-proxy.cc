#include <cstdio>

#include "cordon/net-proxy/proxy.h"

// Links what a program with an egress proxy of its own needs.
int main() {
  const auto proxy = cordon::NewEgressProxy({});
  const auto entry = cordon::ParseEgressOverride("example.com:443=127.0.0.1:8443");
  std::puts("cordon::net-proxy");
  return proxy.ok() && entry.ok() ? 0 : 1;
}
