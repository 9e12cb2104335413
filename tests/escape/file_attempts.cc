#include "file_attempts.h"

#include <set>
#include <vector>

#include "integration/support/repository.h"
#include "probe_run.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

Words FileChange(const Words& attempt) {
  Words probe = {"file_change"};
  probe.insert(probe.end(), attempt.begin(), attempt.end());
  return probe;
}

void CheckRefused(const Ground& ground, const Words& policy, const Words& attempt) {
  const std::string word = ProbeInside(ground, policy, FileChange(attempt));
  INFO(word);
  CHECK(IsRefusal(word));
}

void Renew(const Ground& ground) {
  for (const char* name : {"/kept", "/empty", "/other"}) ground.Remove(ground.outside() + name);
  ground.MakeFile(ground.outside() + "/kept", "before");
  ground.MakeFile(ground.outside() + "/target", "target");
  ground.MakeFolder(ground.outside() + "/empty");
}

}  // namespace

bool IsRefusal(const std::string& word) {
  static const std::set<std::string> refusals = {"EACCES", "EPERM",      "EROFS", "EXDEV",
                                                 "ENOENT", "EOPNOTSUPP", "EBUSY"};
  return refusals.count(word) == 1;
}

void ExpectReadableRootKept(const Ground& ground, Words policy) {
  const std::string kept = ground.outside() + "/kept";
  const std::string other = ground.outside() + "/other";
  policy.insert(policy.end(), {"--read", ground.outside()});
  Renew(ground);
  CHECK(ProbeInside(ground, policy, {"file_change", "read", kept}) == "done");
  const std::vector<Words> attempts = {{"write", kept},
                                       {"create", other},
                                       {"temporary", ground.outside()},
                                       {"truncate", kept},
                                       {"unlink", kept},
                                       {"rmdir", ground.outside() + "/empty"},
                                       {"mkdir", other},
                                       {"symlink", other},
                                       {"chmod", kept},
                                       {"chown", kept},
                                       {"utimens", kept},
                                       {"setxattr", kept},
                                       {"rename", kept, other},
                                       {"link", kept, other},
                                       {"reopen", kept},
                                       {"exchange", kept, ground.outside() + "/target"},
                                       {"link-descriptor", kept, other}};
  for (const Words& attempt : attempts) {
    INFO(attempt.front());
    Renew(ground);
    // A file system may have no attributes at all.
    if (attempt.front() != "setxattr") {
      CHECK(ProbeOutside(ground, FileChange(attempt)) == "done");
    }
    Renew(ground);
    const auto before = Snapshot(ground.outside());
    CheckRefused(ground, policy, attempt);
    CHECK(Snapshot(ground.outside()) == before);
  }
}

void ExpectDeniedFolderKept(const Ground& ground, Words policy) {
  ground.MakeFile("top/hidden/key", "CONFIDENTIAL");
  ground.MakeFile("decoy/hidden/key", "decoy");
  policy.insert(policy.end(), {"--deny-read", ground.PathOf("top/hidden")});
  const std::vector<Words> attempts = {{"read", "top/hidden/key"},
                                       {"write", "top/hidden/key"},
                                       {"reopen", "top/hidden/key"},
                                       {"create", "top/hidden/new"},
                                       {"chmod", "top/hidden/key"},
                                       {"rename", "top/hidden/key", "key"},
                                       {"rename", "top/hidden", "moved"},
                                       {"rename", "top/hidden", "decoy/moved"},
                                       {"rename", "top", "moved"},
                                       {"exchange", "top", "decoy"},
                                       {"exchange", "top/hidden", "decoy/hidden"},
                                       {"link", "top/hidden/key", "key"},
                                       {"link", "top/hidden/key", "decoy/key"},
                                       {"link-descriptor", "top/hidden/key", "decoy/key"},
                                       {"whiteout", "top/hidden", "moved"}};
  for (const Words& attempt : attempts) {
    INFO(attempt[0] << " " << attempt[1]);
    CheckRefused(ground, policy, attempt);
    CHECK(ground.Read("top/hidden/key") == "CONFIDENTIAL");
    CHECK(ground.Read("decoy/hidden/key") == "decoy");
  }
  // The control: the same calls work on what is not denied.
  CHECK(ProbeInside(ground, policy, {"file_change", "link", "decoy/hidden/key", "decoy/key"}) ==
        "done");
  CHECK(ProbeInside(ground, policy, {"file_change", "rename", "decoy/hidden", "decoy/moved"}) ==
        "done");
  CHECK(ground.Read("decoy/moved/key") == "decoy");
}

void ExpectProtectedFilesKept(const Ground& ground, const Words& policy) {
  MakeRepository(ground, ".");
  MakeRepository(ground, "vendor/nested");
  ground.MakeFile("decoy/hooks/pre-commit", "decoy");
  ground.MakeFile("decoy/config", "decoy");
  const std::string config = ground.Read(".git/config");
  const std::vector<Words> attempts = {{"write", ".git/config"},
                                       {"unlink", ".git/config"},
                                       {"truncate", ".git/config"},
                                       {"reopen", ".git/config"},
                                       {"chmod", ".git/config"},
                                       {"utimens", ".git/config"},
                                       {"rename", "decoy/config", ".git/config"},
                                       {"exchange", "decoy/config", ".git/config"},
                                       {"link-descriptor", ".git/config", "decoy/second-name"},
                                       {"link", "decoy/config", ".git/hooks/pre-commit"},
                                       {"rename", "decoy/hooks", ".git/hooks"},
                                       {"rename", ".git/hooks", "decoy/moved"},
                                       {"exchange", "decoy/hooks", ".git/hooks"},
                                       {"create", ".git/hooks/pre-commit"},
                                       {"symlink", ".git/hooks/pre-commit"},
                                       {"rename", ".git", "decoy/moved"},
                                       {"exchange", ".git", "decoy"},
                                       {"rename", "vendor", "decoy/moved"},
                                       {"rename", "vendor/nested", "decoy/moved"},
                                       {"write", "vendor/nested/.git/config"}};
  for (const Words& attempt : attempts) {
    INFO(attempt[0] << " " << attempt[1]);
    CheckRefused(ground, policy, attempt);
    CHECK(ground.Read(".git/config") == config);
    CHECK_FALSE(ground.Exists(".git/hooks/pre-commit"));
    CHECK_FALSE(ground.Exists("decoy/moved"));
  }
  // The control: what is not protected can be changed, and without a sandbox the same calls work.
  CHECK(ProbeInside(ground, policy, {"file_change", "write", "decoy/config"}) == "done");
  CHECK(ProbeOutside(ground, {"file_change", "write", ".git/config"}) == "done");
  CHECK(ProbeOutside(ground, {"file_change", "create", ".git/hooks/pre-commit"}) == "done");
  CHECK(ProbeOutside(ground, {"file_change", "exchange", ".git", "decoy"}) == "done");
}

}  // namespace cordon::test
