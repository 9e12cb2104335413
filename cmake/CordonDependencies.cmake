# The libraries outside the tree. Each module links only those of them that style and design give to it.
include_guard(GLOBAL)

find_package(absl REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(OpenSSL 3.0 REQUIRED COMPONENTS Crypto)
find_package(Threads REQUIRED)
find_package(CLI11 QUIET)
find_package(PkgConfig REQUIRED)
pkg_check_modules(LIBSECCOMP REQUIRED IMPORTED_TARGET libseccomp)

if(CORDON_BUILD_TESTS)
  find_package(Catch2 REQUIRED)
  # Version 3 adds its own directory to the module path, version 2 keeps the module beside its config.
  list(APPEND CMAKE_MODULE_PATH "${Catch2_DIR}")
  include(Catch)
endif()
