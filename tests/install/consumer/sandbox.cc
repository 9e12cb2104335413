#include <cstdio>

#include "cordon/sandbox/executor_set.h"
#include "cordon/sandbox/probe.h"

// Links what a program with an executor needs.
int main() {
  const auto set = cordon::ExecutorSet::Create(cordon::Profile(), {});
  std::printf("cordon::sandbox %s\n", std::string(cordon::TierName(cordon::Tier::kNone)).c_str());
  return set.ok() ? 1 : 0;
}
