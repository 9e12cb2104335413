#include "named_options.h"

#include <string>
#include <vector>

#include "support/catch.h"

namespace cordon::cli {
namespace {

TEST_CASE("an option is needed when an argument may be its name") {
  CHECK(MayBeNamed("--read", {"--read", "path"}));
  CHECK(MayBeNamed("--read", {"--read=path"}));
  CHECK(MayBeNamed("-w,--workspace", {"--workspace"}));
  CHECK(MayBeNamed("-w,--workspace", {"-w"}));
  CHECK(MayBeNamed("-w,--workspace", {"-wfolder"}));
  CHECK(MayBeNamed("-c", {"-Cc"}));  // More than the names themselves.
  CHECK_FALSE(MayBeNamed("--read", {}));
  CHECK_FALSE(MayBeNamed("--read", {"read", "--deny-read", "--reader", "-r"}));
  CHECK_FALSE(MayBeNamed("-w,--workspace", {"--write", "w"}));
}

TEST_CASE("options that are not named are not made, and what is said about them goes nowhere") {
  const std::vector<std::string> arguments = {"--read", "a"};
  CLI::App app;
  NamedOptions options(app, &arguments);
  std::string read;
  std::string write;
  bool flag = false;
  options.add_option("--read", read, "")->type_name("PATH");
  options.add_option("--write", write, "")->type_name("PATH")->required();
  options.add_flag("--flag", flag, "");
  CHECK(app.get_option_no_throw("--read") != nullptr);
  CHECK(app.get_option_no_throw("--write") == nullptr);
  CHECK(app.get_option_no_throw("--flag") == nullptr);
  std::vector<std::string> backwards(arguments.rbegin(), arguments.rend());
  app.parse(backwards);
  CHECK(read == "a");

  CLI::App whole;
  NamedOptions all(whole);
  all.add_option("--write", write, "");
  CHECK(whole.get_option_no_throw("--write") != nullptr);
}

}  // namespace
}  // namespace cordon::cli
