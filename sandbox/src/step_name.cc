#include "plan.h"

namespace cordon::internal {

std::string_view StepName(Step step) {
  switch (step) {
    case Step::kNone:
      return "none";
    case Step::kPlan:
      return "plan";
    case Step::kNamespaces:
      return "namespaces";
    case Step::kIdMaps:
      return "id maps";
    case Step::kLoopback:
      return "loopback";
    case Step::kNetwork:
      return "network";
    case Step::kHostName:
      return "host name";
    case Step::kPropagation:
      return "mount propagation";
    case Step::kView:
      return "mount view";
    case Step::kProc:
      return "proc";
    case Step::kPivot:
      return "pivot";
    case Step::kInit:
      return "init";
    case Step::kTerminal:
      return "terminal";
    case Step::kCapabilities:
      return "capabilities";
    case Step::kNoNewPrivileges:
      return "no new privileges";
    case Step::kLimits:
      return "limits";
    case Step::kWorkingDirectory:
      return "working directory";
    case Step::kLandlock:
      return "landlock";
    case Step::kSeccomp:
      return "seccomp";
    case Step::kExec:
      return "exec";
  }
  return "unknown";
}

}  // namespace cordon::internal
