#include "curl_transport.h"

#include <curl/curl.h>

#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/status.h"
#include "nlohmann/json.hpp"
#include "sse.h"

namespace cordon::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kPollMilliseconds = 100;
constexpr std::size_t kMaxAnswerBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxErrorBytes = 64 * 1024;

struct FreeEasy {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
struct FreeMulti {
  void operator()(CURLM* handle) const { curl_multi_cleanup(handle); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

// The transfer's view of one answer.
struct Answer {
  CURL* easy = nullptr;
  SseReader* events = nullptr;
  std::string error_body;
  std::size_t bytes = 0;
  bool stopped_by_reader = false;
  steady_clock::time_point last_byte = steady_clock::now();
};

std::size_t OnBody(char* bytes, std::size_t, std::size_t count, void* user) {
  auto& answer = *static_cast<Answer*>(user);
  const std::string_view part(bytes, count);
  answer.last_byte = steady_clock::now();
  answer.bytes += count;
  if (answer.bytes > kMaxAnswerBytes) return 0;
  long status = 0;
  curl_easy_getinfo(answer.easy, CURLINFO_RESPONSE_CODE, &status);
  if (status != 200) {
    answer.error_body +=
        part.substr(0, kMaxErrorBytes - std::min(kMaxErrorBytes, answer.error_body.size()));
    return count;
  }
  if (answer.events->Add(part)) return count;
  answer.stopped_by_reader = true;
  return 0;
}

// What the server says about its refusal; both protocols put it at the same place.
std::string WordsOf(const std::string& body) {
  const auto object = nlohmann::json::parse(body, nullptr, false);
  if (object.is_object() && object.contains("error") && object["error"].is_object()) {
    const auto message = object["error"].find("message");
    if (message != object["error"].end() && message->is_string())
      return message->get<std::string>();
  }
  return body.substr(0, 300);
}

bool MayPass(long status) {
  return status == 408 || status == 409 || status == 429 || status >= 500;
}

class CurlTransport final : public ModelTransport {
 public:
  CurlTransport(CURL* easy, CURLM* multi) : easy_(easy), multi_(multi) {}

  absl::Status Stream(const ModelRequest& request, milliseconds idle_limit,
                      const std::function<bool(std::string_view)>& on_event,
                      std::stop_token stop) override {
    wanted_pause_ = {};
    SseReader events(on_event);
    Answer answer{easy_.get(), &events, "", 0, false, steady_clock::now()};
    std::unique_ptr<curl_slist, FreeList> headers;
    for (const std::string& header : request.headers) {
      headers.reset(curl_slist_append(headers.release(), header.c_str()));
    }
    Configure(request, headers.get(), answer);
    curl_multi_add_handle(multi_.get(), easy_.get());
    absl::Status status = Transfer(answer, idle_limit, stop);
    curl_multi_remove_handle(multi_.get(), easy_.get());
    return status;
  }

  milliseconds wanted_pause() const override { return wanted_pause_; }

 private:
  void Configure(const ModelRequest& request, curl_slist* headers, Answer& answer) {
    CURL* easy = easy_.get();
    curl_easy_reset(easy);
    curl_easy_setopt(easy, CURLOPT_URL, request.url.c_str());
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, 20L);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, static_cast<long>(request.body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.c_str());
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &OnBody);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &answer);
  }

  absl::Status Transfer(Answer& answer, milliseconds idle_limit, const std::stop_token& stop) {
    while (true) {
      int running = 0;
      curl_multi_perform(multi_.get(), &running);
      int left = 0;
      if (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
        return Judge(message->data.result, answer);
      }
      if (stop.stop_requested()) {
        return MakeError(ErrorCode::kCancelled, "the request to the model was cancelled");
      }
      if (steady_clock::now() - answer.last_byte > idle_limit) {
        return MakeError(ErrorCode::kUnavailable, "the model's server fell silent");
      }
      curl_multi_poll(multi_.get(), nullptr, 0, kPollMilliseconds, nullptr);
    }
  }

  absl::Status Judge(CURLcode result, const Answer& answer) {
    if (answer.stopped_by_reader) return absl::OkStatus();
    long status = 0;
    curl_off_t seconds = 0;
    curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(easy_.get(), CURLINFO_RETRY_AFTER, &seconds);
    wanted_pause_ = std::chrono::seconds(seconds);
    if (result != CURLE_OK) {
      const bool for_good = result == CURLE_PEER_FAILED_VERIFICATION ||
                            result == CURLE_URL_MALFORMAT || answer.bytes > kMaxAnswerBytes;
      return MakeError(for_good ? ErrorCode::kInvalidRequest : ErrorCode::kUnavailable,
                       absl::StrFormat("cannot talk to the model: %s", curl_easy_strerror(result)));
    }
    if (status == 200) return absl::OkStatus();
    return MakeError(MayPass(status) ? ErrorCode::kUnavailable : ErrorCode::kInvalidRequest,
                     absl::StrFormat("the model's server answered %d: %s", status,
                                     EscapeForDisplay(WordsOf(answer.error_body))));
  }

  const std::unique_ptr<CURL, FreeEasy> easy_;
  const std::unique_ptr<CURLM, FreeMulti> multi_;
  milliseconds wanted_pause_{0};
};

}  // namespace

absl::StatusOr<std::unique_ptr<ModelTransport>> MakeCurlTransport() {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  CURL* easy = started == CURLE_OK ? curl_easy_init() : nullptr;
  CURLM* multi = easy != nullptr ? curl_multi_init() : nullptr;
  if (multi == nullptr) {
    curl_easy_cleanup(easy);
    return MakeError(ErrorCode::kInternal, "libcurl cannot be started");
  }
  return std::make_unique<CurlTransport>(easy, multi);
}

}  // namespace cordon::agent
