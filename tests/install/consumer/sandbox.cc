#include <cstdio>

#include "cordon/sandbox/executor_set.h"

int main() {
  std::puts("cordon::sandbox");
  return 0;
}
