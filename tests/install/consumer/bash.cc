#include "cordon/bash/bash_tool.h"

#include <cstdio>

int main() {
  std::puts("cordon::bash");
  return 0;
}
