// A tool that a model can call. It prepares an operation without any effect, states what authority
// it needs, and runs only what it prepared.

#ifndef CORDON_SDK_TOOL_H_
#define CORDON_SDK_TOOL_H_

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "cordon/sdk/grant.h"
#include "cordon/sdk/request.h"

namespace cordon {

// A prepared operation that only its own tool can read: immutable, of a type that nobody else
// names. The model's raw arguments never reach execution; this does.
class SealedArtifact {
 public:
  template <typename T>
  [[nodiscard]] static SealedArtifact Seal(T value) {
    return SealedArtifact(std::make_shared<const T>(std::move(value)), &typeid(T));
  }
  // Null when it holds another type.
  template <typename T>
  [[nodiscard]] const T* Open() const {
    return type_ != nullptr && *type_ == typeid(T) ? static_cast<const T*>(value_.get()) : nullptr;
  }

 private:
  SealedArtifact(std::shared_ptr<const void> value, const std::type_info* type)
      : value_(std::move(value)), type_(type) {}
  std::shared_ptr<const void> value_;
  const std::type_info* type_ = nullptr;
};

// What `Prepare` returns. Move-only, run at most once.
class PreparedCall {
 public:
  PreparedCall(Request request, SealedArtifact artifact)
      : request_(std::move(request)), artifact_(std::move(artifact)) {}
  PreparedCall(PreparedCall&&) = default;
  PreparedCall& operator=(PreparedCall&&) = default;
  PreparedCall(const PreparedCall&) = delete;
  PreparedCall& operator=(const PreparedCall&) = delete;

  [[nodiscard]] const Request& request() const { return request_; }
  [[nodiscard]] const SealedArtifact& artifact() const { return artifact_; }

 private:
  Request request_;
  SealedArtifact artifact_;
};

struct ToolResult {
  std::string text;             // What the model sees; valid UTF-8, no terminal control codes.
  std::string structured_json;  // The same as a JSON object for programs; may be empty.
  bool is_error = false;
};

struct PrepareContext {
  std::string call_id;
  std::string execution_id;
};

// Implementations are safe from any thread: calls of one batch run at the same time.
class Tool {
 public:
  virtual ~Tool() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual std::string description() const = 0;        // For the model.
  [[nodiscard]] virtual std::string input_schema_json() const = 0;  // JSON Schema of the arguments.

  // Decodes strictly, resolves paths and normalises, so that what is shown is what will be
  // enforced. No effect. Returns kInvalidArguments with a hint, also for unknown members.
  [[nodiscard]] virtual absl::StatusOr<PreparedCall> Prepare(std::string_view arguments_json,
                                                             const PrepareContext& context) = 0;

  // Runs what was prepared, with the grants for it. A failing command is a result.
  [[nodiscard]] virtual absl::StatusOr<ToolResult> Run(const PreparedCall& call,
                                                       std::vector<Grant> grants,
                                                       std::stop_token stop) = 0;
};

}  // namespace cordon

#endif  // CORDON_SDK_TOOL_H_
