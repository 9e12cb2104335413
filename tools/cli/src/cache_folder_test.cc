#include "cache_folder.h"

#include <cstdlib>
#include <filesystem>
#include <string>

#include "support/catch.h"

namespace cordon::cli {
namespace {

namespace fs = std::filesystem;

// Sets a variable, or takes it away, until the end of the case.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    const char* const before = std::getenv(name);
    had_ = before != nullptr;
    if (had_) before_ = before;
    Set(value);
  }
  ~Variable() { Set(had_ ? before_.c_str() : nullptr); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void Set(const char* value) {
    if (value != nullptr) {
      setenv(name_, value, 1);
    } else {
      unsetenv(name_);
    }
  }

  const char* const name_;
  bool had_ = false;
  std::string before_;
};

TEST_CASE("the cache is where the user's caches are") {
  const Variable home("HOME", "/code/home");
  SECTION("named") {
    const Variable cache("XDG_CACHE_HOME", "/code/caches/");
    CHECK(CacheFolder() == "/code/caches/cordon");
  }
  SECTION("below the home when none is named, or by a relative path") {
    const Variable cache("XDG_CACHE_HOME", GENERATE(as<const char*>(), nullptr, "", "caches"));
    CHECK(CacheFolder() == "/code/home/.cache/cordon");
  }
}

TEST_CASE("without a home and a name nothing is cached") {
  const Variable home("HOME", GENERATE(as<const char*>(), nullptr, "", "here"));
  const Variable cache("XDG_CACHE_HOME", nullptr);
  CHECK(CacheFolder().empty());
}

}  // namespace
}  // namespace cordon::cli
