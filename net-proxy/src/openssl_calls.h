// What is used of OpenSSL's shared libraries, which are loaded by the first proxy that is reached
// by TLS: their tables would cost every start of a program a fifth of a millisecond.

#ifndef CORDON_NET_PROXY_SRC_OPENSSL_CALLS_H_
#define CORDON_NET_PROXY_SRC_OPENSSL_CALLS_H_

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "absl/status/statusor.h"

namespace cordon::internal::egress {

// Those that macros of OpenSSL stand for are here by the names that these lead to.
#define CORDON_LIBCRYPTO_CALLS(CALL)  \
  CALL(ERR_clear_error)               \
  CALL(ERR_peek_last_error)           \
  CALL(ERR_reason_error_string)       \
  CALL(X509_VERIFY_PARAM_set1_ip_asc) \
  CALL(X509_verify_cert_error_string)

#define CORDON_LIBSSL_CALLS(CALL)        \
  CALL(SSL_CTX_ctrl)                     \
  CALL(SSL_CTX_free)                     \
  CALL(SSL_CTX_load_verify_file)         \
  CALL(SSL_CTX_new)                      \
  CALL(SSL_CTX_set_default_verify_paths) \
  CALL(SSL_CTX_set_verify)               \
  CALL(SSL_ctrl)                         \
  CALL(SSL_do_handshake)                 \
  CALL(SSL_free)                         \
  CALL(SSL_get0_param)                   \
  CALL(SSL_get_error)                    \
  CALL(SSL_get_verify_result)            \
  CALL(SSL_new)                          \
  CALL(SSL_read_ex)                      \
  CALL(SSL_set1_host)                    \
  CALL(SSL_set_connect_state)            \
  CALL(SSL_set_fd)                       \
  CALL(SSL_set_hostflags)                \
  CALL(SSL_shutdown)                     \
  CALL(SSL_write_ex)                     \
  CALL(TLS_client_method)

struct OpenSslCalls {
// A declaration takes no parentheses.
#define CORDON_MEMBER(name) decltype(&::name) name = nullptr;  // NOLINT(bugprone-macro-parentheses)
  CORDON_LIBCRYPTO_CALLS(CORDON_MEMBER)
  CORDON_LIBSSL_CALLS(CORDON_MEMBER)
#undef CORDON_MEMBER
};

// Loads them at the first call, from where the dynamic linker looks; they stay. Safe from any
// thread. kUnavailable, naming the library, when they are not there.
[[nodiscard]] absl::StatusOr<const OpenSslCalls*> LoadOpenSsl();

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_OPENSSL_CALLS_H_
