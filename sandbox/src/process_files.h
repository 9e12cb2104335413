// Opens files below /proc for a command of the landlock tier. Landlock closes every process's
// folder there, since its rules cannot tell one process from another; what belongs to the command's
// own tree is opened by the host, after a look at whose it is, and handed to the caller
// (seccomp_unotify(2)).
//
// This only ever adds: a call that it does not answer goes on, under Landlock, which refuses it. So
// nothing depends on what the caller does meanwhile to the text of the path: the text is read once,
// the process is held by its folder in /proc, looked at, and what is opened is a plain file in that
// folder, by its name and never through a link.

#ifndef CORDON_SANDBOX_SRC_PROCESS_FILES_H_
#define CORDON_SANDBOX_SRC_PROCESS_FILES_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "caller.h"
#include "command_tree.h"
#include "observer.h"
#include "open_call.h"
#include "process_listing.h"

namespace cordon::internal {

class ProcessFiles final : public CallHandler {
 public:
  // `listing`: the folder that is made for who lists /proc; see ProcessListing.
  ProcessFiles(std::shared_ptr<const CommandTree> tree, std::string listing)
      : tree_(std::move(tree)), listing_(std::move(listing)) {}

  CallAnswer OnCall(const seccomp_notif& call, int listener) override;

 private:
  // Invalid: the call is to go on.
  [[nodiscard]] UniqueFd Open(const Caller& caller, const OpenRequest& request);
  [[nodiscard]] UniqueFd OpenOfProcess(const Caller& caller, std::string_view process,
                                       std::string_view name, const OpenRequest& request);
  [[nodiscard]] UniqueFd OpenListing(const Caller& caller, const OpenRequest& request);
  [[nodiscard]] UniqueFd OpenTerminal(const Caller& caller, int descriptor,
                                      const OpenRequest& request);

  const std::shared_ptr<const CommandTree> tree_;
  ProcessListing listing_;
};

// What may be opened in the folder of a process, for whom.
enum class ProcessFileClass : std::uint8_t {
  kClosed,
  kPublic,   // Of every process of the tree: what any user may read on an ordinary system.
  kPrivate,  // Of the caller's own process and those below it: what tells about their memory.
};

// `name` is relative to the folder of a process or thread, e.g. "status", "task/12/comm", "fd"; ""
// is the folder itself.
[[nodiscard]] ProcessFileClass ClassOfProcessFile(std::string_view name);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_PROCESS_FILES_H_
