#include "model_choice.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_format.h"
#include "anthropic_model.h"
#include "cordon/sdk/status.h"
#include "curl_transport.h"
#include "openai_model.h"

namespace cordon::agent {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Takes it out of the environment, and its letters out of the memory that /proc/PID/environ shows.
std::string TakeSecret(const char* name) {
  char* value = std::getenv(name);
  if (value == nullptr) return "";
  std::string secret = value;
  std::memset(value, 0, secret.size());
  ::unsetenv(name);
  return secret;
}

std::string Either(std::string first, const std::string& second) {
  return first.empty() ? second : std::move(first);
}

struct Provider {
  std::string_view name;
  Protocol protocol;
  std::string key;
  std::string base_url;
  std::string model;
  std::string default_url;
  std::string default_model;

  [[nodiscard]] bool IsSetUp() const { return !key.empty() || !base_url.empty(); }
};

}  // namespace

std::string_view HowToGetAModel() {
  return "no model is set up. Either of these, then try again:\n"
         "  export ANTHROPIC_API_KEY=...   a key from https://console.anthropic.com/\n"
         "  export OPENAI_API_KEY=...      a key from https://platform.openai.com/api-keys\n"
         "  export OPENAI_BASE_URL=http://127.0.0.1:11434/v1 OPENAI_MODEL=...\n"
         "                                 a server of your own: Ollama, llama.cpp, vLLM; no key\n"
         "Without any of them, --demo plays a scripted model.\n";
}

absl::StatusOr<ModelChoice> ChooseModel(std::string_view provider, const std::string& model) {
  Provider providers[] = {
      {"anthropic", Protocol::kAnthropic, TakeSecret("ANTHROPIC_API_KEY"),
       Variable("ANTHROPIC_BASE_URL"), Variable("ANTHROPIC_MODEL"), "https://api.anthropic.com",
       "claude-sonnet-4-5"},
      {"openai", Protocol::kOpenAi, TakeSecret("OPENAI_API_KEY"), Variable("OPENAI_BASE_URL"),
       Variable("OPENAI_MODEL"), "https://api.openai.com/v1", "gpt-4.1"}};
  bool known = provider.empty();
  for (Provider& candidate : providers) {
    known |= candidate.name == provider;
    if (!candidate.IsSetUp() || (!provider.empty() && candidate.name != provider)) continue;
    ModelChoice choice;
    choice.protocol = candidate.protocol;
    choice.endpoint.base_url = Either(std::move(candidate.base_url), candidate.default_url);
    while (choice.endpoint.base_url.ends_with('/')) choice.endpoint.base_url.pop_back();
    choice.endpoint.key = std::move(candidate.key);
    choice.endpoint.model = Either(model, Either(candidate.model, candidate.default_model));
    if (absl::Status valid = CheckEndpoint(choice.endpoint); !valid.ok()) return valid;
    return choice;
  }
  if (known) return MakeError(ErrorCode::kNotFound, HowToGetAModel());
  return MakeError(ErrorCode::kInvalidOption,
                   absl::StrFormat("--provider '%s': it is anthropic or openai", provider));
}

absl::StatusOr<std::unique_ptr<Model>> ConnectModel(ModelChoice choice) {
  absl::StatusOr<std::unique_ptr<ModelTransport>> transport = MakeCurlTransport();
  if (!transport.ok()) return transport.status();
  switch (choice.protocol) {
    case Protocol::kAnthropic:
      return MakeAnthropicModel(std::move(choice.endpoint), *std::move(transport));
    case Protocol::kOpenAi:
      return MakeOpenAiModel(std::move(choice.endpoint), *std::move(transport));
  }
  return MakeError(ErrorCode::kInternal, "unknown protocol");
}

}  // namespace cordon::agent
