// A model behind the Anthropic Messages API (docs.anthropic.com, version 2023-06-01), streamed.

#ifndef CORDON_SAMPLES_AGENT_ANTHROPIC_MODEL_H_
#define CORDON_SAMPLES_AGENT_ANTHROPIC_MODEL_H_

#include <memory>

#include "model.h"
#include "model_http.h"

namespace cordon::agent {

// `endpoint.base_url` is without "/v1". A stream that breaks off is asked for again: nothing of a
// turn runs before it is whole.
[[nodiscard]] std::unique_ptr<Model> MakeAnthropicModel(ModelEndpoint endpoint,
                                                        std::unique_ptr<ModelTransport> transport);

}  // namespace cordon::agent

#endif  // CORDON_SAMPLES_AGENT_ANTHROPIC_MODEL_H_
