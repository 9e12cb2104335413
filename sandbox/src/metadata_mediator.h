// Changes modes and times of files for a command of the landlock tier, which may not do so itself:
// Landlock says nothing about these, so the filter hands each such call over (seccomp_unotify(2))
// and the call never goes on.
//
// The file is opened first, O_PATH, and everything after that is about this one object: that it
// lies in a place that the command may write to, whose it is, and the change itself. So nothing
// depends on what the caller does to its memory, its descriptors, or to names meanwhile. What is
// not clearly allowed gets EPERM.

#ifndef CORDON_SANDBOX_SRC_METADATA_MEDIATOR_H_
#define CORDON_SANDBOX_SRC_METADATA_MEDIATOR_H_

#include <memory>
#include <string>
#include <utility>

#include "caller.h"
#include "directory_reader.h"
#include "metadata_call.h"
#include "observer.h"
#include "plain_paths.h"
#include "writable_places.h"

namespace cordon::internal {

class MetadataMediator final : public CallHandler {
 public:
  explicit MetadataMediator(std::shared_ptr<const WritablePlaces> places)
      : places_(std::move(places)) {}

  CallAnswer OnCall(const seccomp_notif& call, int listener) override;

 private:
  // 0, or the errno that the call gets.
  [[nodiscard]] int Perform(const Caller& caller);
  [[nodiscard]] OpenedNode Open(const Caller& caller, const MetadataRequest& request);
  [[nodiscard]] OpenedNode OpenPath(const std::string& path, bool follow);
  [[nodiscard]] bool MayBeWritten(const std::string& path) const;
  [[nodiscard]] int Change(const Caller& caller, int object, const MetadataRequest& request);

  const std::shared_ptr<const WritablePlaces> places_;
  PlainPaths plain_;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_METADATA_MEDIATOR_H_
