// A model behind the chat completions API of OpenAI, which llama.cpp, Ollama, vLLM and others speak
// too, streamed.

#ifndef CORDON_SAMPLES_AGENT_OPENAI_MODEL_H_
#define CORDON_SAMPLES_AGENT_OPENAI_MODEL_H_

#include <memory>

#include "model.h"
#include "model_http.h"

namespace cordon::agent {

// `endpoint.base_url` includes the version, as in "https://api.openai.com/v1". A stream that breaks
// off is asked for again: nothing of a turn runs before it is whole.
[[nodiscard]] std::unique_ptr<Model> MakeOpenAiModel(ModelEndpoint endpoint,
                                                     std::unique_ptr<ModelTransport> transport);

}  // namespace cordon::agent

#endif  // CORDON_SAMPLES_AGENT_OPENAI_MODEL_H_
