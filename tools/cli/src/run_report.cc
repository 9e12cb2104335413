#include "run_report.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_format.h"
#include "cordon/sdk/digest.h"
#include "cordon/sdk/status.h"
#include "nlohmann/json.hpp"

namespace cordon::cli {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json GuaranteesJson(const Guarantees& guarantees) {
  Json json = Json::object();
  for (const std::string_view name : AllGuaranteeNames()) json[std::string(name)] = false;
  for (const std::string_view name : GuaranteeNames(guarantees)) json[std::string(name)] = true;
  return json;
}

Json EntriesJson(const RunFacts& facts) {
  Json json = Json::array();
  for (const auto* entries : {&facts.compile.entries, &facts.extra_entries}) {
    for (const ReportEntry& entry : *entries) {
      json.push_back({{"feature", entry.feature},
                      {"status", FeatureStatusName(entry.status)},
                      {"detail", entry.detail}});
    }
  }
  return json;
}

Json OutcomeJson(const RunFacts& facts) {
  if (!facts.result) {
    const auto error = ErrorOf(facts.error);
    return {{"kind", "not_started"},
            {"code", nullptr},
            {"signal", nullptr},
            {"wall_ms", 0},
            {"max_rss_bytes", 0},
            {"cpu_ms", 0},
            {"output_truncated", false},
            {"error",
             {{"code", ErrorCodeName(error ? error->code : ErrorCode::kInternal)},
              {"message", std::string(facts.error.message())}}}};
  }
  const Outcome& outcome = facts.result->outcome;
  return {{"kind", OutcomeKindName(outcome.kind)},
          {"code", OrNull(outcome.code)},
          {"signal", OrNull(outcome.signal)},
          {"wall_ms", outcome.wall.count()},
          {"max_rss_bytes", outcome.max_rss_bytes},
          {"cpu_ms", outcome.cpu.count()},
          {"output_truncated", outcome.kind == Outcome::Kind::kOutputLimit},
          {"left_running", facts.result->left_running}};
}

Json DenialsJson(const RunResult& result) {
  Json json = Json::array();
  for (const Denial& denial : result.denials) {
    json.push_back({{"kind", denial.kind},
                    {"target", denial.target},
                    {"count", denial.count},
                    {"reason", denial.reason},
                    {"allow_with", denial.allow_with}});
  }
  return json;
}

Json GrantsJson(const RunResult& result) {
  Json json = Json::array();
  for (const ConsumedGrant& grant : result.grants) {
    json.push_back({{"class", GrantClassName(grant.grant_class)},
                    {"target", grant.target},
                    {"consumed", true}});
  }
  return json;
}

absl::Status CannotWrite(const std::string& path) {
  return MakeError(ErrorCode::kInvalidOption,
                   absl::StrFormat("--report '%s': cannot write there: %s", path,
                                   std::error_code(errno, std::generic_category()).message()));
}

absl::Status WriteAll(int fd, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = ::write(fd, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return MakeErrnoError(errno, "cannot write the report");
    done += static_cast<std::size_t>(written);
  }
  return absl::OkStatus();
}

}  // namespace

std::string RunReportJson(const RunFacts& facts) {
  static const RunResult kNothing;
  const RunResult& result = facts.result ? *facts.result : kNothing;
  Json json;
  json["version"] = 1;
  json["command"] = EffectiveArgv(facts.command);
  json["workspace"] = facts.workspace;
  json["execution_id"] = facts.execution_id;
  json["backend"] = facts.compile.backend;
  json["level"] = LevelName(facts.compile.level);
  json["guarantees"] = GuaranteesJson(facts.compile.guarantees);
  json["entries"] = EntriesJson(facts);
  json["lifetime"] = LifetimeContainmentName(facts.compile.lifetime);
  json["outcome"] = OutcomeJson(facts);
  json["denials"] = DenialsJson(result);
  json["changed_protected"] = result.changed_protected;
  json["grants"] = GrantsJson(result);
  // Arguments need not be UTF-8; what is not becomes U+FFFD rather than an exception.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

absl::StatusOr<ReportFile> ReportFile::Open(const std::string& path) {
  ReportFile file;
  if (path == "-") {
    file.stream_.Reset(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
    if (!file.stream_.valid()) return CannotWrite(path);
    return file;
  }
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    file.stream_.Reset(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    if (!file.stream_.valid()) return CannotWrite(path);
    return file;
  }
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  file.name_ = slash == std::string::npos ? path : path.substr(slash + 1);
  file.folder_.Reset(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!file.folder_.valid() || file.name_.empty()) return CannotWrite(path);
  if (::faccessat(file.folder_.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) return CannotWrite(path);
  return file;
}

absl::Status ReportFile::Write(const std::string& text) {
  if (stream_.valid()) return WriteAll(stream_.get(), text);
  const std::string temporary = "." + name_ + "." + RandomId();
  const UniqueFd fd(::openat(folder_.get(), temporary.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!fd.valid()) return MakeErrnoError(errno, "cannot write the report");
  absl::Status status = WriteAll(fd.get(), text);
  if (status.ok() &&
      ::renameat(folder_.get(), temporary.c_str(), folder_.get(), name_.c_str()) != 0) {
    status = MakeErrnoError(errno, "cannot put the report in its place");
  }
  if (!status.ok()) ::unlinkat(folder_.get(), temporary.c_str(), 0);
  return status;
}

}  // namespace cordon::cli
