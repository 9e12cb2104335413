#include "audit_chain.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "cordon/sdk/digest.h"
#include "redaction.h"
#include "strict_json.h"
#include "utf8.h"

namespace cordon::internal {
namespace {

constexpr std::string_view kHashMember = ",\"hash\":\"";
constexpr std::string_view kLineEnd = "\"}";
constexpr std::size_t kHashDigits = 64;
constexpr std::size_t kTailBytes = kHashMember.size() + kHashDigits + kLineEnd.size();
// Each byte may be escaped as six: these keep a line below `kMaxAuditLineBytes`.
constexpr std::size_t kMaxFieldBytes = std::size_t{64} * 1024;
constexpr std::size_t kMaxFieldsBytes = std::size_t{96} * 1024;
constexpr std::size_t kMaxIdBytes = std::size_t{4} * 1024;
constexpr std::size_t kMaxFields = 256;

bool IsHash(std::string_view text) {
  return text.size() == kHashDigits && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

absl::Status Invalid(std::string_view what) {
  return absl::InvalidArgumentError(absl::string_view(what.data(), what.size()));
}

std::string Bounded(std::string_view value, std::size_t& room) {
  const std::size_t limit = std::min(kMaxFieldBytes, room);
  std::string kept = ReplaceInvalidUtf8(value.substr(0, limit));
  room -= std::min(room, kept.size());
  if (value.size() <= limit) return kept;
  return kept + "... (" + std::to_string(value.size()) + " bytes)";
}

std::string UniqueKey(const Json& fields, const std::string& key) {
  if (!fields.contains(key)) return key;
  int number = 2;
  while (fields.contains(key + "#" + std::to_string(number))) ++number;
  return key + "#" + std::to_string(number);
}

Json FieldsToJson(const LogRecord& record) {
  Json fields = Json::object();
  std::size_t room = kMaxFieldsBytes;
  for (const auto& [key, value] : record.fields) {
    if (fields.size() == kMaxFields) break;
    const std::string name = UniqueKey(fields, Bounded(key, room));
    fields[name] = Bounded(Redacted(value), room);
  }
  return fields;
}

std::string TimeText(std::chrono::system_clock::time_point time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromChrono(time), absl::UTCTimeZone());
}

absl::StatusOr<ParsedLine> ParseMembers(const Json& json) {
  MemberReader members(json, "the record");
  ParsedLine parsed;
  parsed.record.seq = members.Number("seq");
  parsed.record.time = members.String("time");
  parsed.record.execution_id = members.String("execution_id");
  parsed.record.event = members.String("event");
  const Json& fields = members.Object("fields");
  parsed.prev = members.String("prev");
  parsed.record.hash = members.String("hash");
  if (absl::Status status = members.Finish(); !status.ok()) return status;
  for (const auto& field : fields.items()) {
    if (!field.value().is_string()) return Invalid("a field of the record is not a string");
    parsed.record.fields.emplace_back(field.key(), field.value().get<std::string>());
  }
  return parsed;
}

}  // namespace

ChainLine MakeChainLine(const ChainEnd& end, const LogRecord& record,
                        std::chrono::system_clock::time_point time) {
  std::size_t room = kMaxIdBytes;
  Json json;
  json["seq"] = end.seq + 1;
  json["time"] = TimeText(time);
  json["execution_id"] = Bounded(record.execution_id, room);
  json["event"] = Bounded(record.event, room);
  json["fields"] = FieldsToJson(record);
  json["prev"] = end.hash;
  std::string body = DumpJson(json);
  body.pop_back();  // Its closing brace; the hash is over everything before its own member.
  std::string hash = DigestHex(Sha256(body));
  std::string line = body + std::string(kHashMember) + hash + std::string(kLineEnd) + "\n";
  return {std::move(line), {end.seq + 1, std::move(hash)}};
}

absl::StatusOr<ParsedLine> ParseChainLine(std::string_view line) {
  if (line.size() <= kTailBytes) return Invalid("it is no record");
  const std::string_view body = line.substr(0, line.size() - kTailBytes);
  const std::string_view tail = line.substr(body.size());
  const std::string_view hash = tail.substr(kHashMember.size(), kHashDigits);
  const bool shaped = tail.starts_with(kHashMember) && tail.ends_with(kLineEnd) && IsHash(hash);
  if (!shaped) return Invalid("it does not end in a hash");
  if (DigestHex(Sha256(body)) != hash) return Invalid("its content does not fit its hash");
  const absl::StatusOr<Json> json = ParseStrictJson(line);
  if (!json.ok()) return json.status();
  return ParseMembers(*json);
}

std::string HeadText(const ChainEnd& end) {
  return absl::StrFormat("%020d %s\n", end.seq, end.hash);
}

absl::StatusOr<ChainEnd> ParseHead(std::string_view text) {
  if (text.size() != kHeadBytes || text[20] != ' ' || text.back() != '\n') {
    return Invalid("the head file is damaged");
  }
  ChainEnd end;
  for (const char c : text.substr(0, 20)) {
    if (c < '0' || c > '9') return Invalid("the head file is damaged");
    end.seq = end.seq * 10 + static_cast<std::uint64_t>(c - '0');
  }
  end.hash = std::string(text.substr(21, kHashDigits));
  if (!IsHash(end.hash)) return Invalid("the head file is damaged");
  return end;
}

}  // namespace cordon::internal
