#include "cordon/sdk/status.h"

#include <cerrno>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "support/catch.h"

namespace cordon {
namespace {

constexpr int kCodes = static_cast<int>(ErrorCode::kLogFailed) + 1;

TEST_CASE("every error code has a name of its own and survives the payload") {
  std::set<std::string_view> names;
  for (int i = 0; i < kCodes; ++i) {
    const auto code = static_cast<ErrorCode>(i);
    const absl::Status status = MakeError(code, "what");
    CHECK(names.insert(ErrorCodeName(code)).second);
    CHECK(Is(status, code));
    CHECK(status.code() == CanonicalCode(code));
    CHECK(status.message() == "what");
    CHECK_FALSE(status.ok());
  }
}

TEST_CASE("the next code after the last known one is no error of ours") {
  absl::Status status = MakeError(ErrorCode::kClosed, "what");
  const auto set = [&status](const std::string& payload) {
    status.SetPayload("cordon.error.v1", absl::Cord(payload));
    return ErrorOf(status);
  };
  CHECK(set(std::to_string(kCodes - 1) + " 0 ").has_value());
  CHECK_FALSE(set(std::to_string(kCodes) + " 0 ").has_value());
  for (const char* malformed : {"", "1", "1 ", "1 2", "-1 0 ", "x 0 ", "1 x ", " 1 0 "}) {
    CAPTURE(malformed);
    CHECK_FALSE(set(malformed).has_value());
  }
}

TEST_CASE("a set-up failure carries its step and errno") {
  const absl::Status status = MakeSetupFailure("mount.proc", EPERM, "cannot confine");
  CHECK(status.message() == "cannot confine: mount.proc: Operation not permitted");
  CHECK(status.code() == absl::StatusCode::kAborted);
  CHECK(ErrorOf(status) == Error{ErrorCode::kSetupFailed, "mount.proc", EPERM});
}

TEST_CASE("a step may hold blanks and digits") {
  const absl::Status status = MakeSetupFailure("7 8 step\n", 3, "m");
  CHECK(ErrorOf(status) == Error{ErrorCode::kSetupFailed, "7 8 step\n", 3});
}

TEST_CASE("a missing file is told apart from other failed system calls") {
  const absl::Status missing = MakeErrnoError(ENOENT, "cannot open /x");
  CHECK(missing.message() == "cannot open /x: No such file or directory");
  CHECK(ErrorOf(missing) == Error{ErrorCode::kNotFound, "", ENOENT});
  CHECK(missing.code() == absl::StatusCode::kNotFound);
  CHECK(ErrorOf(MakeErrnoError(EACCES, "m")) == Error{ErrorCode::kInternal, "", EACCES});
}

TEST_CASE("annotating keeps the error") {
  const absl::Status status =
      Annotate(Annotate(MakeSetupFailure("s", EIO, "inner"), "middle"), "outer");
  CHECK(status.message() == "outer: middle: inner: s: Input/output error");
  CHECK(ErrorOf(status) == Error{ErrorCode::kSetupFailed, "s", EIO});
  CHECK(Annotate(absl::OkStatus(), "outer").ok());
}

TEST_CASE("annotating keeps what others attached") {
  absl::Status foreign = absl::DataLossError("inner");
  foreign.SetPayload("other", absl::Cord("payload"));
  const absl::Status status = Annotate(foreign, "outer");
  CHECK(status.code() == absl::StatusCode::kDataLoss);
  CHECK(status.GetPayload("other") == absl::Cord("payload"));
}

TEST_CASE("a status of somebody else has no error of ours") {
  CHECK_FALSE(ErrorOf(absl::InternalError("m")).has_value());
  CHECK_FALSE(ErrorOf(absl::OkStatus()).has_value());
  CHECK_FALSE(Is(absl::InternalError("m"), ErrorCode::kInternal));
}

TEST_CASE("a status goes through StatusOr with its error") {
  const absl::StatusOr<int> result = MakeError(ErrorCode::kGrantReplayed, "m");
  CHECK(Is(result.status(), ErrorCode::kGrantReplayed));
}

}  // namespace
}  // namespace cordon
