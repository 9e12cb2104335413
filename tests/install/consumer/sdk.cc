#include <cstdio>

#include "cordon/sdk/profile.h"

int main() {
  std::puts("cordon::sdk");
  return 0;
}
