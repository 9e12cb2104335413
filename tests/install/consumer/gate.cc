#include "cordon/gate/gate.h"

#include <cstdio>

int main() {
  std::puts("cordon::gate");
  return 0;
}
