#include "cordon/sandbox/executor_set.h"

#include <cstdio>

int main() {
  std::puts("cordon::sandbox");
  return 0;
}
