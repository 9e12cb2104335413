// A thread that is started meanwhile runs no handler of the host program: it inherits the mask.

#ifndef CORDON_SANDBOX_SRC_ALL_SIGNALS_BLOCKED_H_
#define CORDON_SANDBOX_SRC_ALL_SIGNALS_BLOCKED_H_

#include <csignal>

namespace cordon::internal {

// Of the calling thread, while it lives.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~AllSignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_ALL_SIGNALS_BLOCKED_H_
