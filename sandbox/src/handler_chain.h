// Several handlers of one command's calls.

#ifndef CORDON_SANDBOX_SRC_HANDLER_CHAIN_H_
#define CORDON_SANDBOX_SRC_HANDLER_CHAIN_H_

#include <memory>
#include <utility>
#include <vector>

#include "observer.h"

namespace cordon::internal {

// Each is asked in turn, until one of them does not let the call go on.
class HandlerChain final : public CallHandler {
 public:
  void Add(std::shared_ptr<CallHandler> handler) { handlers_.push_back(std::move(handler)); }

  CallAnswer OnCall(const seccomp_notif& call, int listener) override {
    for (const std::shared_ptr<CallHandler>& handler : handlers_) {
      const CallAnswer answer = handler->OnCall(call, listener);
      if (!answer.goes_on) return answer;
    }
    return {};
  }

 private:
  std::vector<std::shared_ptr<CallHandler>> handlers_;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_HANDLER_CHAIN_H_
