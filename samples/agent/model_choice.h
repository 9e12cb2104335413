// Which real model to use: from the command line and the environment, where keys come from alone.

#ifndef CORDON_SAMPLES_AGENT_MODEL_CHOICE_H_
#define CORDON_SAMPLES_AGENT_MODEL_CHOICE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "model.h"
#include "model_http.h"

namespace cordon::agent {

enum class Protocol : std::uint8_t { kAnthropic, kOpenAi };

struct ModelChoice {
  Protocol protocol = Protocol::kAnthropic;
  ModelEndpoint endpoint;
};

// How to get a key or a local server, for people.
[[nodiscard]] std::string_view HowToGetAModel();

// `provider` is "anthropic", "openai", or empty: the one whose key or address is set, Anthropic's
// first. `model` may be empty. Takes the keys out of the environment of this process, so that
// nothing it starts can inherit them. Returns kNotFound when neither is set up, kInvalidOption for
// an unknown provider or an address that would carry a key in the clear.
//
//   ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, ANTHROPIC_MODEL
//   OPENAI_API_KEY, OPENAI_BASE_URL (no key is needed for a server of one's own), OPENAI_MODEL
[[nodiscard]] absl::StatusOr<ModelChoice> ChooseModel(std::string_view provider,
                                                      const std::string& model);

[[nodiscard]] absl::StatusOr<std::unique_ptr<Model>> ConnectModel(ModelChoice choice);

}  // namespace cordon::agent

#endif  // CORDON_SAMPLES_AGENT_MODEL_CHOICE_H_
