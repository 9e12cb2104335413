#include "cordon/sdk/profile.h"

#include <cstdio>

int main() {
  std::puts("cordon::sdk");
  return 0;
}
