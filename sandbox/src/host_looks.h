// The questions about the host whose answers a view is made of. Each is noted in the journal that
// the thread keeps, if it keeps one: host_journal.h. Functions are safe from any thread.

#ifndef CORDON_SANDBOX_SRC_HOST_LOOKS_H_
#define CORDON_SANDBOX_SRC_HOST_LOOKS_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "directory_reader.h"
#include "host_journal.h"

namespace cordon::internal {

// What is at `path`, links not followed; kMissing also for what cannot be asked for.
[[nodiscard]] NodeType TypeAt(const std::string& path);

// Notes that somebody knows it without asking.
void NoteType(const std::string& path, NodeType type);

// The same with what tells one file from another.
struct FileAt {
  NodeType type = NodeType::kMissing;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool has_other_names = false;
};
[[nodiscard]] FileAt LookAtFile(const std::string& path);

// `ReadLink`, `ReadSmallFile` and cordon::ResolveSymlinks.
[[nodiscard]] std::string LinkAt(const std::string& path);
[[nodiscard]] std::string TextAt(const std::string& path, std::size_t max_bytes);
[[nodiscard]] absl::StatusOr<std::string> ResolveLinks(std::string_view path);

// Calls `visit` with each name in the folder `path`, none of whose components may be a link, in
// any order, when all could be read. Returns 0 or an errno.
using VisitEntry = absl::FunctionRef<void(std::string_view name, NodeType type)>;
[[nodiscard]] int ListFolder(const std::string& path, VisitEntry visit);

// Who owns what is at `path`, links not followed.
[[nodiscard]] std::optional<uid_t> OwnerAt(const std::string& path);

// The answer of `TypeAt` for what is missing.
inline constexpr std::string_view kMissingAnswer = "0";

// What the look was told, as the journal keeps it; asks once more.
[[nodiscard]] std::string AskAgain(LookKind kind, const std::string& path);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_HOST_LOOKS_H_
