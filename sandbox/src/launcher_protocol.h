// What the library and the launcher say to each other on the launcher's socket (SOCK_SEQPACKET):
// one request, one reply (but for kPrepare and kRunTable), never two at a time.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_PROTOCOL_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_PROTOCOL_H_

#include <cstdint>

namespace cordon::internal {

// The launcher's descriptors beside 0-2, which are /dev/null.
inline constexpr int kLauncherSocket = 3;
inline constexpr int kLauncherHost = 4;  // pidfd of the process that it must not outlive.

// A command up to this size travels in the request itself.
inline constexpr std::uint32_t kMaxInlineBytes = 24 * 1024;

// How many commands can be noted at a time in a run table.
inline constexpr std::uint32_t kMaxNotedRuns = 256;

// How many plans can be held at a time.
inline constexpr std::uint32_t kMaxPlans = 4096;

struct LauncherRequest {
  enum class Kind : std::uint32_t {
    kAddPlan,     // One descriptor: a memory file with the plan's block.
    kRemovePlan,  // `plan_id`
    kSpawn,  // `plan_id`, `run_place`, `run_id`. Descriptors: input, output, error, channel; with
             // `kInNetwork` the network namespace to start in; with `kInCgroup` the cgroup; and,
             // when `inline_bytes` is 0, a memory file with the command's block, which else follows
             // this record.
    kPrepare,    // `plan_id`, `run_place`, `run_id`. Descriptors: the channel of a sandbox that
                 // waits for its command; with `kInNetwork` the network namespace to make it in;
                 // with `kInCgroup` the cgroup. There is no reply; what fails is said on the
                 // channel.
    kRunTable,   // One descriptor: the memory file of a RunTable (run_table.h). There is no reply.
    kOwnFolder,  // One descriptor: a folder. The name of a folder in it follows this record; it is
                 // removed when the process that is served dies.
    kMakeNetwork,        // One descriptor: the socket on which the new network's keeper serves
                         // (network_protocol.h). With `kWithGateway` it has two sides.
    kCheckProcessLimit,  // Whether a plan may have a `process_limit`: no error.
    kCheckCgroup,  // One descriptor: a cgroup. Whether a process can be started in it: no error.
    kOwnCgroup,    // The same as kOwnFolder for a cgroup, which is ended first.
  };
  Kind kind = Kind::kAddPlan;
  std::uint32_t plan_id = 0;
  std::uint32_t inline_bytes = 0;
  std::uint32_t flags = 0;
  // kSpawn, kPrepare: one more than the id of a plan with the same view or rules, whose template or
  // ruleset is used if it is there already, and is made if not; 0: none. The size stays a multiple
  // of 8.
  std::uint32_t template_plan = 0;
  // Of a command that must leave nothing under the plan's absent names: one more than its place in
  // the run table, and the number that stands there while something may be left. Both 0: of none.
  std::uint32_t run_place = 0;
  std::uint32_t run_id = 0;
  std::uint32_t reserved = 0;
};
inline constexpr int kSpawnDescriptors = 4;

// Flags of a request.
inline constexpr std::uint32_t kInNetwork = 1;
inline constexpr std::uint32_t kWithGateway = 2;
inline constexpr std::uint32_t kInCgroup = 4;

// To kSpawn without an error the pidfd of the sandbox's pid 1 is attached, to kMakeNetwork that of
// the keeper.
struct LauncherReply {
  std::int32_t error_number = 0;
  std::uint32_t plan_id = 0;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_PROTOCOL_H_
