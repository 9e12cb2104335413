#include "cordon/sdk/grant.h"

#include <sys/stat.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cordon/sdk/status.h"
#include "support/catch.h"

namespace cordon {
namespace {

using namespace std::string_literals;

const std::vector<std::pair<GrantClass, std::string>> kNames = {
    {GrantClass::kCommandStart, "command.start.v1"},
    {GrantClass::kFilesystemPathRead, "filesystem.path.read.v1"},
    {GrantClass::kFilesystemPathWrite, "filesystem.path.write.v1"},
    {GrantClass::kFilesystemTreeRead, "filesystem.tree.read.v1"},
    {GrantClass::kFilesystemTreeWrite, "filesystem.tree.write.v1"},
    {GrantClass::kFilesystemHostRead, "filesystem.host.read.v1"},
    {GrantClass::kFilesystemHostWrite, "filesystem.host.write.v1"},
    {GrantClass::kNetworkTarget, "network.proxy-target.v1"},
    {GrantClass::kNetworkBroad, "network.broad.v1"},
};

PathIdentity Folder(std::string missing_suffix = "") {
  PathIdentity identity;
  identity.device = 1;
  identity.inode = 2;
  identity.type = S_IFDIR;
  identity.missing_suffix = std::move(missing_suffix);
  return identity;
}

bool Fits(const GrantSubject& subject) {
  const absl::Status status = ValidateGrantSubject(subject);
  CHECK((status.ok() || Is(status, ErrorCode::kInvalidTarget)));
  return status.ok();
}

TEST_CASE("the names of grant classes are pinned") {
  for (const auto& [grant_class, name] : kNames) {
    CHECK(GrantClassName(grant_class) == name);
    CHECK(ParseGrantClass(name) == grant_class);
  }
  CHECK(static_cast<std::size_t>(GrantClass::kNetworkBroad) + 1 == kNames.size());
}

TEST_CASE("other names are no grant classes") {
  for (const char* name : {"", "command.start", "command.start.v2", "command.start.v1 ",
                           "COMMAND.START.V1", "filesystem.read.v1", "unknown"}) {
    CAPTURE(name);
    CHECK_FALSE(ParseGrantClass(name).has_value());
  }
}

TEST_CASE("a command's grant has no target of its own") {
  CHECK(Fits({GrantClass::kCommandStart, "", std::nullopt}));
  CHECK_FALSE(Fits({GrantClass::kCommandStart, "ls", std::nullopt}));
  CHECK_FALSE(Fits({GrantClass::kCommandStart, "", Folder()}));
}

TEST_CASE("a path's grant has a normal path and its identity") {
  for (const GrantClass grant_class :
       {GrantClass::kFilesystemPathRead, GrantClass::kFilesystemPathWrite,
        GrantClass::kFilesystemTreeRead, GrantClass::kFilesystemTreeWrite}) {
    CAPTURE(GrantClassName(grant_class));
    CHECK(Fits({grant_class, "/a/b", Folder()}));
    CHECK(Fits({grant_class, "/a/b", Folder("b")}));
    CHECK(Fits({grant_class, "/a/b", Folder("a/b")}));
    CHECK_FALSE(Fits({grant_class, "/a/b", std::nullopt}));
    for (const std::string& path : {""s, "a"s, "/a/"s, "/a/../b"s, "//a"s, "/a\0"s, "tree:/a"s}) {
      CAPTURE(path);
      CHECK_FALSE(Fits({grant_class, path, Folder()}));
    }
  }
}

TEST_CASE("what is missing of a path must be the end of it") {
  const auto with_missing = [](std::string missing) {
    return GrantSubject{GrantClass::kFilesystemPathWrite, "/a/bc", Folder(std::move(missing))};
  };
  CHECK(Fits(with_missing("bc")));
  for (const char* missing : {"c", "/bc", "/a/bc", "x/bc", "b", "bc/", "a/bcd"}) {
    CAPTURE(missing);
    CHECK_FALSE(Fits(with_missing(missing)));
  }
}

TEST_CASE("a host's grant has the target / and no identity") {
  for (const GrantClass grant_class :
       {GrantClass::kFilesystemHostRead, GrantClass::kFilesystemHostWrite}) {
    CHECK(Fits({grant_class, "/", std::nullopt}));
    CHECK_FALSE(Fits({grant_class, "", std::nullopt}));
    CHECK_FALSE(Fits({grant_class, "/a", std::nullopt}));
    CHECK_FALSE(Fits({grant_class, "host:*", std::nullopt}));
    CHECK_FALSE(Fits({grant_class, "/", Folder()}));
  }
}

TEST_CASE("a network grant names one host and one port in their only spelling") {
  for (const char* target : {"tcp:example.com:443", "tcp:192.0.2.1:80", "tcp:[2001:db8::1]:22"}) {
    CAPTURE(target);
    CHECK(Fits({GrantClass::kNetworkTarget, target, std::nullopt}));
    CHECK_FALSE(Fits({GrantClass::kNetworkBroad, target, std::nullopt}));
    CHECK_FALSE(Fits({GrantClass::kNetworkTarget, target, Folder()}));
  }
  for (const char* target :
       {"", "example.com:443", "tcp:example.com", "tcp:example.com:0", "tcp:example.com:*",
        "tcp:Example.com:443", "tcp:example.com.:443", "tcp:*.example.com:443", "tcp:*:443",
        "udp:example.com:443", "tcp:example.com:0443", "tcp:2001:db8::1:22", "/etc"}) {
    CAPTURE(target);
    CHECK_FALSE(Fits({GrantClass::kNetworkTarget, target, std::nullopt}));
  }
}

TEST_CASE("a broad network grant names any host and one port") {
  CHECK(Fits({GrantClass::kNetworkBroad, "tcp:*:443", std::nullopt}));
  for (const char* target : {"tcp:*:*", "tcp:*:0", "*:443", "tcp:*.example.com:443", "tcp:a:443"}) {
    CAPTURE(target);
    CHECK_FALSE(Fits({GrantClass::kNetworkBroad, target, std::nullopt}));
  }
}

TEST_CASE("an unknown class fits nothing") {
  CHECK_FALSE(Fits({static_cast<GrantClass>(99), "", std::nullopt}));
}

}  // namespace
}  // namespace cordon
