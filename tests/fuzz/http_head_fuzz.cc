// Any bytes as what a client says: however they are cut, the same goes on, and of HTTP no head that
// is for another host.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "client_inspector.h"

namespace {

using cordon::internal::egress::ClientInspector;

struct Run {
  std::string out;
  bool refused = false;
};

Run Feed(std::string_view bytes, std::size_t piece, bool is_forward) {
  cordon::internal::egress::InspectorRules rules;
  rules.host = "a.test";
  rules.port = 80;
  rules.max_head_bytes = 300;  // So that short inputs reach it.
  rules.is_forward = is_forward;
  ClientInspector inspector(rules);
  Run run;
  bool raw = false;
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, piece);
    bytes.remove_prefix(part.size());
    if (raw) {
      run.out += part;
      continue;
    }
    const ClientInspector::Verdict verdict = inspector.Feed(part, run.out);
    raw = verdict == ClientInspector::Verdict::kRaw;
    run.refused = verdict == ClientInspector::Verdict::kRefuse;
    if (run.refused || verdict == ClientInspector::Verdict::kElsewhere) return run;
  }
  return run;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const bool is_forward : {false, true}) {
    const Run whole = Feed(bytes, size + 1, is_forward);
    const Run cut = Feed(bytes, 1, is_forward);
    if (whole.refused != cut.refused || whole.out != cut.out) std::abort();
    if (whole.out.size() > size && !is_forward) std::abort();
  }
  return 0;
}
