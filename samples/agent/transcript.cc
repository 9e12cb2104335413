#include "transcript.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>

#include "cordon/sdk/status.h"
#include "nlohmann/json.hpp"

namespace cordon::agent {
namespace {

std::string_view RoleName(Role role) {
  switch (role) {
    case Role::kUser:
      return "user";
    case Role::kAssistant:
      return "assistant";
    case Role::kTool:
      return "tool";
  }
  return "unknown";
}

std::string Line(const Message& message) {
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  nlohmann::json object = {
      {"time_ms", now.count()}, {"role", RoleName(message.role)}, {"text", message.text}};
  for (const ToolCall& call : message.calls) {
    object["calls"].push_back(
        {{"id", call.id}, {"tool", call.tool}, {"arguments", call.arguments_json}});
  }
  if (message.role == Role::kTool) {
    object["call_id"] = message.call_id;
    object["is_error"] = message.is_error;
  }
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

absl::StatusOr<TranscriptFile> TranscriptFile::Open(const std::string& path) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return MakeErrnoError(errno, "cannot keep a transcript in " + path);
  return TranscriptFile(path, std::move(file));
}

absl::Status TranscriptFile::Append(const Message& message) {
  const std::string line = Line(message);
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = write(file_.get(), rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return MakeErrnoError(errno, "cannot write the transcript");
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  return absl::OkStatus();
}

}  // namespace cordon::agent
