// `ModelTransport` over libcurl.

#ifndef CORDON_SAMPLES_AGENT_CURL_TRANSPORT_H_
#define CORDON_SAMPLES_AGENT_CURL_TRANSPORT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "model_http.h"

namespace cordon::agent {

// Verifies certificates, follows no redirect, and takes at most 64 MiB of an answer. Used by one
// thread at a time.
[[nodiscard]] absl::StatusOr<std::unique_ptr<ModelTransport>> MakeCurlTransport();

}  // namespace cordon::agent

#endif  // CORDON_SAMPLES_AGENT_CURL_TRANSPORT_H_
