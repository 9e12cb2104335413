#include "landlock_report.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "claimed_guarantees.h"
#include "command_tree.h"
#include "cordon/sdk/status.h"
#include "landlock_abi.h"
#include "observer.h"
#include "unix_socket_diag.h"

namespace cordon::internal {
namespace {

constexpr std::size_t kNamedFolders = 5;

// The first few, and how many more there are.
std::string Some(const std::vector<std::string>& folders) {
  const std::size_t shown = std::min(folders.size(), kNamedFolders);
  std::string text =
      absl::StrJoin(folders.begin(), folders.begin() + static_cast<std::ptrdiff_t>(shown), ", ");
  if (folders.size() > shown) absl::StrAppend(&text, " and ", folders.size() - shown, " more");
  return text;
}

ReportEntry ProcessEntry() {
  return {"process", FeatureStatus::kEnforced,
          "Landlock ends signals, tracing and the files of /proc at the command's own tree; no "
          "capabilities, no_new_privs, seccomp"};
}

ReportEntry NetworkEntry(bool open, bool is_led) {
  if (open) return {"network", FeatureStatus::kUnenforced, "the profile allows the host's network"};
  if (is_led) {
    return {
        "network", FeatureStatus::kEnforced,
        "Landlock refuses every connection; the supervisor connects the command's sockets to the "
        "egress proxy and to nothing else, and that reaches the targets by name and port"};
  }
  return {
      "network", FeatureStatus::kEnforced,
      "Landlock refuses every connection, also to the loopback; no sockets but those of TCP can "
      "be made, and none of them can listen"};
}

ReportEntry Narrowed(std::string_view feature, std::string_view detail) {
  return {std::string(feature), FeatureStatus::kNarrowed, std::string(detail)};
}

std::string ProcDetail(const std::string& why_not) {
  if (why_not.empty()) {
    return "of the folders of processes in /proc only those of the command's own tree can be "
           "opened, by the supervisor for it: what tells about them, but neither their memory nor "
           "the host's mounts; /proc lists their numbers and nothing else";
  }
  return absl::StrCat(
      "no folder of a process in /proc can be opened, not even the command's own, but links such "
      "as /proc/self/exe and /dev/fd work: ",
      why_not);
}

std::string TemporaryFilesDetail(const std::string& why_not) {
  constexpr char kClosed[] =
      "/tmp and /var/tmp are the host's and closed; TMPDIR is a private folder";
  if (why_not.empty()) {
    return absl::StrCat(kClosed,
                        "; shared memory and semaphores by name are the command's own, kept by the "
                        "supervisor, and nothing else of /dev/shm can be used");
  }
  return absl::StrCat(kClosed, "; shared memory and semaphores by name cannot be made: ", why_not);
}

std::string MetadataDetail(const std::string& why_not) {
  constexpr char kSeen[] = "which names exist, and their size and times, can be seen everywhere";
  if (why_not.empty()) {
    return absl::StrCat(
        "the supervisor changes modes, but for the set-id bits, and times of the command's own "
        "files where it may write, on local file systems; owners and attributes cannot be "
        "changed; ",
        kSeen);
  }
  return absl::StrCat("modes, owners, times and attributes of files cannot be changed, but ", kSeen,
                      ": ", why_not);
}

std::string UnixSocketDetail(const std::string& why_not) {
  if (why_not.empty()) {
    return "the supervisor connects stream sockets to those of the command's own tree and to "
           "listed "
           "ones, and its process is what their peers see; no datagram sockets";
  }
  return absl::StrCat("no unix socket can be made but connected pairs: ", why_not);
}

}  // namespace

std::string WhyOutOfReach(std::string_view ptrace_scope, bool is_root, bool is_subreaper) {
  const bool is_open = ptrace_scope == "0";
  const bool is_for_descendants = ptrace_scope == "1" && is_subreaper;
  const bool is_for_root = ptrace_scope != "3" && is_root;
  if (is_open || is_for_descendants || is_for_root) return "";
  return ptrace_scope == "1"
             ? "that needs kernel.yama.ptrace_scope=0, or a program that is the subreaper of its "
               "commands (prctl(2), PR_SET_CHILD_SUBREAPER)"
             : "that needs kernel.yama.ptrace_scope=0";
}

std::string WhyNotMediated() {
  std::string scope = "0";
  std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> scope;
  int is_subreaper = 0;
  (void)prctl(PR_GET_CHILD_SUBREAPER, &is_subreaper);
  if (std::string why = WhyOutOfReach(scope, geteuid() == 0, is_subreaper != 0); !why.empty()) {
    return why;
  }
  const int error = ObservationError();
  if (error == EBUSY) return "the calls of this program are observed already";
  if (error == 0) return "";
  return absl::StrCat("the kernel gives no notifications of calls: ",
                      std::generic_category().message(error));
}

std::string WhyNotLed(int landlock_abi) {
  if (LandlockNetworkRightsOf(landlock_abi) == 0) return "that needs Linux 6.7";
  return WhyNotMediated();
}

std::string WhyNoUnixSockets(const Profile& profile, const std::string& why_not_mediated) {
  if (profile.Settings().network == Access::kAllow) {
    return "with the host's network they cannot be told from its other sockets";
  }
  if (!why_not_mediated.empty()) return why_not_mediated;
  if (!CommandTree::CanBeListed()) {
    return "the kernel does not say which children a process has (CONFIG_PROC_CHILDREN)";
  }
  if (!TellsBoundSockets()) {
    return "the kernel does not say what unix sockets are bound to (CONFIG_UNIX_DIAG)";
  }
  return "";
}

absl::Status CheckSupportedOnHost(const Profile& profile, const std::string& why_not_led,
                                  const std::string& why_no_unix_sockets) {
  const ProfileConfig& settings = profile.Settings();
  std::vector<std::string> missing;
  if (!settings.unix_sockets.empty() && !why_no_unix_sockets.empty()) {
    missing.push_back(absl::StrCat("unix_sockets (", why_no_unix_sockets, ")"));
  }
  if (settings.ack_tracing.given()) missing.emplace_back("ack_tracing");
  if (settings.ack_nested_namespaces.given()) missing.emplace_back("ack_nested_namespaces");
  const bool open = settings.network == Access::kAllow;
  if (!open && !why_not_led.empty() && !settings.network_targets.empty()) {
    missing.push_back(absl::StrCat("network_targets (", why_not_led, ")"));
  }
  if (!open && !settings.loopback_ports.empty()) missing.emplace_back("loopback_ports");
  if (!open && !settings.publish_ports.empty()) missing.emplace_back("publish_ports");
  if (missing.empty()) return absl::OkStatus();
  return MakeError(
      ErrorCode::kUnavailable,
      absl::StrFormat("the profile sets %s, which the landlock tier cannot give: remove them, or "
                      "make the namespaces tier possible (cordon doctor says how)",
                      absl::StrJoin(missing, ", ")));
}

CompileReport LandlockReport(const Profile& profile, const HostProbe& host,
                             const CompiledLimits& limits, const Mediation& mediation) {
  const bool open = profile.Settings().network == Access::kAllow;
  CompileReport report;
  report.backend = std::string(TierName(Tier::kLandlock));
  report.level = Level::kDegraded;
  // The supervisor is out of the command's reach and ends its descendants, but has to find them.
  report.lifetime = LifetimeContainment::kBestEffort;
  report.guarantees = ClaimedGuarantees(profile, limits);
  for (const LayerProbe& layer : host.layers) {
    if (layer.ok) continue;
    report.entries.push_back(
        Narrowed("tier", absl::StrFormat("no namespaces tier: %s: step %s failed: %s", layer.layer,
                                         layer.step, layer.fix)));
  }
  const std::vector<ReportEntry> fixed = {
      ProcessEntry(),
      {"environment", FeatureStatus::kEnforced, "built from an allowlist; nothing is inherited"},
      NetworkEntry(open, mediation.connections),
      Narrowed("unix_sockets", UnixSocketDetail(mediation.why_no_unix_sockets)),
      Narrowed("proc", ProcDetail(mediation.why_not)),
      Narrowed("temporary_files", TemporaryFilesDetail(mediation.why_not)),
      Narrowed("ipc", "System V IPC and message queues are the host's and closed"),
      Narrowed("terminals", "the command cannot make pseudo-terminals"),
      Narrowed("metadata", MetadataDetail(mediation.why_not)),
      Narrowed("lifetime",
               "a supervisor ends all descendants; one that forks faster than it is found may "
               "outlast the command")};
  report.entries.insert(report.entries.end(), fixed.begin(), fixed.end());
  if (mediation.connections) {
    report.entries.push_back(Narrowed(
        "network.programs",
        "names are looked up over TCP, as RES_OPTIONS tells the C library: programs with a "
        "resolver of their own that only sends datagrams (static Go, musl) reach addresses "
        "alone; nothing can listen, not even at the loopback, the host's /etc/hosts counts, "
        "and getpeername says 127.0.0.1"));
  }
  report.entries.insert(report.entries.end(), limits.entries.begin(), limits.entries.end());
  return report;
}

namespace {

// Folders where what a command makes is opened for it, and the others.
struct ClosedFolders {
  std::vector<std::string> opened;
  std::vector<std::string> unlisted;
  std::vector<std::string> unread;
};

ClosedFolders ClosedBy(const HostRules& rules, bool mediates) {
  ClosedFolders closed;
  const auto sort = [&](const std::vector<std::string>& folders, std::vector<std::string>& rest) {
    for (const std::string& folder : folders) {
      const bool is_fixed =
          std::find(rules.fixed.begin(), rules.fixed.end(), folder) != rules.fixed.end();
      (mediates && is_fixed ? closed.opened : rest).push_back(folder);
    }
  };
  sort(rules.unlisted, closed.unlisted);
  sort(rules.unread, closed.unread);
  return closed;
}

}  // namespace

std::vector<ReportEntry> HostFileEntries(const HostRules& rules, bool mediates) {
  std::vector<ReportEntry> entries = {{"filesystem.read", FeatureStatus::kEnforced,
                                       "Landlock lets the command open only what the policy reads"},
                                      {"filesystem.write", FeatureStatus::kEnforced,
                                       "Landlock ends writing at the writable roots"}};
  const auto add = [&entries](std::string_view feature, const std::vector<std::string>& folders,
                              std::string_view what) {
    if (folders.empty()) return;
    entries.push_back(Narrowed(feature, absl::StrCat(Some(folders), std::string(what))));
  };
  add("filesystem.write", rules.fixed,
      mediates
          ? ": the supervisor makes, moves and removes files, folders and links in them for the "
            "command, since something below may not be changed and Landlock allows whole trees "
            "only; nothing else can be made there, and a folder with something narrower below "
            "cannot be moved"
          : ": nothing can be made, moved or removed directly in them, since something below may "
            "not be "
            "changed and Landlock allows whole trees only; what is in them can be changed");
  const ClosedFolders closed = ClosedBy(rules, mediates);
  add("filesystem.execute", closed.opened,
      ": what a command makes directly in them, or in folders that it makes there, it cannot "
      "execute, the next command can: something below is denied, and Landlock takes no rule for "
      "what is new once the command runs; the supervisor opens it for reading, and lists the "
      "folders, on local file systems");
  add("filesystem.read", closed.unlisted,
      ": cannot be listed, and what appears directly in them later cannot be read, since something "
      "below is denied");
  add("filesystem.read", closed.unread,
      ": what appears directly in them later cannot be read, also not by the command that makes "
      "it, "
      "since something below is denied");
  add("filesystem.read", rules.unseen, ": cannot be listed by this user, so nothing in it is open");
  return entries;
}

}  // namespace cordon::internal
