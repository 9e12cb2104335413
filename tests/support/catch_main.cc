// Version 2 is header only: this is where its implementation is compiled. Version 3 ignores the
// macro.
#define CATCH_CONFIG_RUNNER
#include <cstdlib>
#include <iostream>
#include <string>

#include "support/catch.h"

namespace cordon::test {
namespace {

bool Required(std::string_view facility) {
  const char* list = std::getenv("CORDON_REQUIRE");
  if (list == nullptr) return false;
  const std::string padded = "," + std::string(list) + ",";
  return padded.find("," + std::string(facility) + ",") != std::string::npos;
}

}  // namespace

void ReportSkipped(std::string_view facility, std::string_view reason) {
  if (Required(facility)) FAIL("CORDON_REQUIRE names " << facility << ", but: " << reason);
  // ctest looks for this word (cordon_test in cmake/CordonTargets.cmake).
  std::cout << "cordon-test-skipped: " << facility << ": " << reason << std::endl;
}

}  // namespace cordon::test

int main(int argc, char** argv) { return Catch::Session().run(argc, argv); }
