// What the landlock tier can promise for a profile. It shares the host's paths, processes and
// network with the command, so it says of each what is narrower than with namespaces.

#ifndef CORDON_SANDBOX_SRC_LANDLOCK_REPORT_H_
#define CORDON_SANDBOX_SRC_LANDLOCK_REPORT_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "cordon/sandbox/probe.h"
#include "cordon/sdk/enforcement_report.h"
#include "cordon/sdk/profile.h"
#include "host_rules.h"
#include "resource_limits.h"

namespace cordon::internal {

// Signals can be kept in only from this version on (Linux 6.12): before, a command could end the
// program that supervises it. Every sandboxed profile needs that (`process_boundary`).
inline constexpr int kLandlockAbiOfTier = 6;

// Why this program may not look into its commands under kernel.yama.ptrace_scope; empty when it
// may. With 1 only a process's descendants can be looked into
// (Documentation/admin-guide/LSM/Yama.rst): commands are that when their launcher, an orphan, falls
// to this program as its subreaper, as it does to `cordon`.
[[nodiscard]] std::string WhyOutOfReach(std::string_view ptrace_scope, bool is_root,
                                        bool is_subreaper);

// Why this program cannot do for its commands what they may not do themselves; empty when it can:
// it has to be told of their calls and to look at their memory.
[[nodiscard]] std::string WhyNotMediated();

// Why no command may have sockets that are connected to a proxy for it; empty when it may. The
// kernel itself must refuse whatever else they connect to, and let this program connect them.
[[nodiscard]] std::string WhyNotLed(int landlock_abi);

// Why no command may have unix sockets but connected pairs; empty when it may.
[[nodiscard]] std::string WhyNoUnixSockets(const Profile& profile,
                                           const std::string& why_not_mediated);

// Returns kUnavailable for what a profile asks that only a view or a network namespace could give;
// targets and unix sockets are among that when there is a reason why connections cannot be made.
[[nodiscard]] absl::Status CheckSupportedOnHost(const Profile& profile,
                                                const std::string& why_not_led,
                                                const std::string& why_no_unix_sockets);

// What the supervisor does for commands that may not do it themselves.
struct Mediation {
  // Why it neither changes modes and times (MetadataMediator) nor names (NameMediator), and opens
  // no files in /proc (ProcessFiles); empty: it does.
  std::string why_not;
  std::string why_no_unix_sockets = {};  // Empty: it connects them; see UnixMediator.
  bool connections = false;              // It connects sockets to a proxy of the command's own.
};

// The report but for its entries about files.
[[nodiscard]] CompileReport LandlockReport(const Profile& profile, const HostProbe& host,
                                           const CompiledLimits& limits,
                                           const Mediation& mediation);

// What `rules` mean for files.
// `mediates`: names are made, moved and removed for the command where the rules do not let it.
[[nodiscard]] std::vector<ReportEntry> HostFileEntries(const HostRules& rules, bool mediates);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_LANDLOCK_REPORT_H_
