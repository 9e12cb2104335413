#include "effects.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.h"

namespace cordon::internal {
namespace {

std::vector<std::string> Effects(const std::string& text, std::vector<Requirement> more = {}) {
  Request request;
  request.command = Command::Shell(text, "/w/sub");
  more.push_back(RequireCommand(*request.command));
  request.authority = std::move(more);
  return DescribeEffects(request, "/w");
}

bool Says(const std::vector<std::string>& lines, std::string_view part) {
  return std::any_of(lines.begin(), lines.end(), [part](const std::string& line) {
    return line.find(part) != std::string::npos;
  });
}

TEST_CASE("effects are told from the text") {
  CHECK(Says(Effects("sudo ls"), "more privilege (`sudo`)"));
  CHECK(Says(Effects("rm -rf x"), "deletes (`rm`)"));
  CHECK(Says(Effects("/bin/rm x"), "deletes (`rm`)"));
  CHECK(Says(Effects("git clean -fdx"), "deletes (`git`)"));
  CHECK(Says(Effects("find . -delete"), "deletes (`find`)"));
  CHECK(Says(Effects("mv a b"), "may overwrite"));
  CHECK(Says(Effects("ls >'a\xe2\x80\xae'"), "overwrites a\\u202e"));
  CHECK(Says(Effects("ls >>log"), "appends to log"));
  CHECK(Says(Effects("ls >$x"), "only known then"));
  CHECK(Says(Effects("PATH=x ls"), "sets the variable PATH"));
  CHECK(Says(Effects("bash x"), "`bash` say"));
  CHECK(Says(Effects("$x"), "only known when it runs"));
  CHECK(Says(Effects("ls &"), "background"));
  CHECK(Says(Effects("echo $(id)"), "cannot be read through"));
  CHECK(Effects("ls -l 2>/dev/null").empty());
}

TEST_CASE("effects are told from the requirements") {
  const Requirement target = RequireNetwork(ParseNetworkTarget("a.example:443").value());
  CHECK(Says(Effects("ls", {target}), "connects to tcp:a.example:443"));
  const Requirement outside =
      RequirePath(CapabilityKind::kFilesystemWrite, PathShape::kTree, "/usr/share").value();
  CHECK(Says(Effects("ls", {outside}), "writes /usr/share and everything below, outside the"));
  const Requirement all =
      RequirePath(CapabilityKind::kFilesystemRead, PathShape::kTree, "/").value();
  CHECK(Says(Effects("ls", {all}), "reads anywhere on this machine"));
}

TEST_CASE(
    "a file in the workspace that is redirected to is told once, one elsewhere with its place") {
  const auto writes = [](const std::string& path) {
    return RequirePath(CapabilityKind::kFilesystemWrite, PathShape::kExact, path).value();
  };
  CHECK(Effects("ls >out", {writes("/w/sub/out")}) == std::vector<std::string>{"overwrites out"});
  CHECK(Says(Effects("ls >../../etc/x", {writes("/etc/x")}), "writes /etc/x, outside the"));
  CHECK(Says(Effects("ls >out", {writes("/w/sub/other")}), "writes /w/sub/other"));
}

TEST_CASE("the model's description is no effect") {
  Request request;
  request.command = Command::Shell("ls", "/w");
  request.model_description = "deletes nothing";
  request.authority = std::vector<Requirement>{RequireCommand(*request.command)};
  CHECK(DescribeEffects(request, "/w").empty());
}

}  // namespace
}  // namespace cordon::internal
