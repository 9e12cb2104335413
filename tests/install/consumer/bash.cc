#include <cstdio>

#include "cordon/bash/bash_tool.h"

int main() {
  std::puts("cordon::bash");
  return 0;
}
