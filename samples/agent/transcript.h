// The conversation on disk: one JSON object a line, appended as it happens.

#ifndef CORDON_SAMPLES_AGENT_TRANSCRIPT_H_
#define CORDON_SAMPLES_AGENT_TRANSCRIPT_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cordon/sdk/unique_fd.h"
#include "model.h"

namespace cordon::agent {

class TranscriptFile {
 public:
  // Appends to `path`, made (0600) with its folders if missing. Follows no link at the end of it.
  [[nodiscard]] static absl::StatusOr<TranscriptFile> Open(const std::string& path);
  [[nodiscard]] absl::Status Append(const Message& message);
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  TranscriptFile(std::string path, UniqueFd file)
      : path_(std::move(path)), file_(std::move(file)) {}
  std::string path_;
  UniqueFd file_;
};

}  // namespace cordon::agent

#endif  // CORDON_SAMPLES_AGENT_TRANSCRIPT_H_
