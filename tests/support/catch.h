// The one way to include Catch2: tests use only what versions 2 and 3 share.
#ifndef CORDON_TESTS_SUPPORT_CATCH_H_
#define CORDON_TESTS_SUPPORT_CATCH_H_

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <string_view>

namespace cordon::test {

// Says that the running case cannot run on this host, so that ctest lists it as skipped. `facility`
// is the word by which CORDON_REQUIRE (comma separated: "userns,landlock,seccomp") demands it: then
// the case fails instead.
void ReportSkipped(std::string_view facility, std::string_view reason);

}  // namespace cordon::test

// Leaves the test case as skipped. Use it at the top of a case, before anything was checked.
#define CORDON_SKIP(facility, reason)                    \
  do {                                                   \
    ::cordon::test::ReportSkipped((facility), (reason)); \
    return;                                              \
  } while (false)

#endif  // CORDON_TESTS_SUPPORT_CATCH_H_
