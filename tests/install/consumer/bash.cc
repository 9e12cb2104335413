#include <cstdio>

#include "cordon/bash/bash_tool.h"

// Links what a program with the Bash tool needs.
int main() {
  const auto tool = cordon::BashTool::Create(nullptr);
  std::puts("cordon::bash");
  return tool.ok() ? 1 : 0;
}
