// The environment of a command is built from an allowlist.

#include <string>

#include "integration/support/cordon_run.h"
#include "integration/support/ground.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

TEST_CASE("no variable of the caller arrives that the policy does not name") {
  Ground ground;
  for (const char* name : {"AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "ANTHROPIC_API_KEY",
                           "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR",
                           "KUBECONFIG", "DOCKER_HOST", "HTTPS_PROXY", "all_proxy", "HARMLESS"}) {
    ground.SetVariable(name, std::string("CONFIDENTIAL-") + name);
  }
  CHECK(Has(Control(ground, "env"), "CONFIDENTIAL-HARMLESS"));
  const CordonRun run =
      RunText(ground, {}, "env; set; python3 -c 'import os; print(os.environ)'; echo finished");
  Expect(run).Status(0).Out("finished").NoOut("CONFIDENTIAL");
}

TEST_CASE("the baseline is there: path, home, temporary folder, locale, terminal type") {
  const Ground ground;
  const CordonRun run = RunText(ground, {}, "env");
  for (const char* name : {"PATH=", "HOME=", "TMPDIR=", "LC_ALL=C.UTF-8", "TERM=dumb"}) {
    Expect(run, name).Out(name);
  }
}

TEST_CASE("nothing that the command starts waits for a person") {
  const Ground ground;
  Expect(RunText(ground, {}, "env")).Out("GIT_TERMINAL_PROMPT=0").Out("PAGER=cat");
}

TEST_CASE("a named variable passes with the caller's value or a given one") {
  Ground ground;
  ground.SetVariable("NAMED", "from-the-caller");
  ground.SetVariable("UNNAMED", "CONFIDENTIAL");
  const Words policy = {"--env", "NAMED", "--env", "GIVEN=a b=c", "--env", "EMPTY="};
  Expect(RunText(ground, policy, "env"))
      .Status(0)
      .Out("NAMED=from-the-caller\n")
      .Out("GIVEN=a b=c\n")
      .Out("EMPTY=\n")
      .NoOut("CONFIDENTIAL");
  Expect(RunText(ground, {"--env", "NOBODY_SET_IT"}, "echo ${NOBODY_SET_IT-unset}"))
      .Status(0)
      .OutIs("unset\n");
}

// Variables that make a program load code, all pointing at code in the workspace.
class LoaderGround : public Ground {
 public:
  LoaderGround() {
    MakeFile("evil/shell.sh", "echo LOADED-by-shell\n");
    MakeFile("evil/sitecustomize.py", "print('LOADED-by-python')\n");
    MakeProgram("evil/program", "#!/bin/sh\necho LOADED-by-git >&2\nexit 1\n");
    for (const char* name : {"BASH_ENV", "ENV"}) SetVariable(name, PathOf("evil/shell.sh"));
    for (const char* name : {"PYTHONPATH", "LD_LIBRARY_PATH", "PERL5LIB", "RUBYLIB"}) {
      SetVariable(name, PathOf("evil"));
    }
    for (const char* name : {"GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_ASKPASS"}) {
      SetVariable(name, PathOf("evil/program"));
    }
    SetVariable("LD_BIND_NOW", "1");
    SetVariable("NODE_OPTIONS", "--require " + PathOf("evil/code.js"));
  }
};

TEST_CASE("variables that make programs load code do not pass") {
  const LoaderGround ground;
  const std::string act =
      "bash -c true; python3 -c ''; git ls-remote ssh://host.test/x; env | cut -d= -f1; exit 0";
  const Ended control = ground.RunUnconfined(act);
  for (const char* by : {"LOADED-by-shell", "LOADED-by-python", "LOADED-by-git"}) {
    INFO(by);
    REQUIRE(Has(control.out + control.err, by));
  }
  const CordonRun run = RunText(ground, {}, act);
  Expect(run).Status(0).Out("PATH").NoOut("LOADED").NoErr("LOADED");
  for (const char* name :
       {"BASH_ENV\n", "ENV\n", "PYTHONPATH\n", "LD_LIBRARY_PATH\n", "LD_BIND_NOW\n",
        "GIT_SSH_COMMAND\n", "GIT_EXTERNAL_DIFF\n", "NODE_OPTIONS\n", "PERL5LIB\n"}) {
    Expect(run, name).NoOut(name);
  }
}

TEST_CASE("such a variable passes when the policy names it") {
  const LoaderGround ground;
  Expect(RunText(ground, {"--env", "PYTHONPATH"}, "python3 -c ''")).Out("LOADED-by-python");
}

}  // namespace
}  // namespace cordon::test
