#include "openssl_calls.h"

#include <dlfcn.h>
#include <openssl/opensslv.h>

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "cordon/sdk/status.h"

namespace cordon::internal::egress {
namespace {

// Of the version whose headers this was compiled with.
std::string FileName(std::string_view library) {
  return absl::StrCat(std::string(library), ".so.", OPENSSL_SHLIB_VERSION);
}

class Library {
 public:
  explicit Library(const std::string& name)
      : handle_(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {}

  template <typename Function>
  bool Find(const char* name, Function& function) const {
    if (handle_ != nullptr) function = reinterpret_cast<Function>(dlsym(handle_, name));
    return handle_ != nullptr && function != nullptr;
  }

 private:
  void* const handle_;  // Never closed: others of this process may have it, too.
};

struct Loaded {
  Loaded() {
    const Library crypto(FileName("libcrypto"));
    const Library ssl(FileName("libssl"));
#define CORDON_FIND(library, name) complete = (library).Find(#name, calls.name) && complete;
#define CORDON_FIND_CRYPTO(name) CORDON_FIND(crypto, name)
#define CORDON_FIND_SSL(name) CORDON_FIND(ssl, name)
    CORDON_LIBCRYPTO_CALLS(CORDON_FIND_CRYPTO)
    CORDON_LIBSSL_CALLS(CORDON_FIND_SSL)
#undef CORDON_FIND_SSL
#undef CORDON_FIND_CRYPTO
#undef CORDON_FIND
    if (complete) return;
    const char* const why = dlerror();
    if (why != nullptr) problem = why;
  }

  OpenSslCalls calls;
  bool complete = true;
  std::string problem = "a function is missing";
};

}  // namespace

absl::StatusOr<const OpenSslCalls*> LoadOpenSsl() {
  static const Loaded* const kLoaded = new Loaded;
  if (kLoaded->complete) return &kLoaded->calls;
  return MakeError(ErrorCode::kUnavailable,
                   absl::StrCat("TLS to an upstream proxy needs ", FileName("libssl"), " and ",
                                FileName("libcrypto"), ", which cannot be loaded: ",
                                kLoaded->problem, "; install OpenSSL's libraries"));
}

}  // namespace cordon::internal::egress
