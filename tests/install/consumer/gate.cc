#include "cordon/gate/gate.h"

#include <cstdio>

#include "cordon/gate/grants.h"

// Links what a program with a gate needs.
int main() {
  const auto authority = cordon::NewHmacGrantAuthority("consumer");
  const auto gate = cordon::Gate::Create({});
  std::puts("cordon::gate");
  return authority.ok() && !gate.ok() ? 0 : 1;
}
