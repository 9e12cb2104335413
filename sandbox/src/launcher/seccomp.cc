#include "launcher/seccomp.h"

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "launcher/fd.h"

namespace cordon::launcher {

int EnterSeccomp(const Plan& plan) {
  const wire::Bytes bytes = plan.header->seccomp;
  if (bytes.size == 0) return 0;
  const std::uint32_t count = bytes.size / sizeof(sock_filter);
  if (count > BPF_MAXINSNS || bytes.size % sizeof(sock_filter) != 0) return EINVAL;
  sock_fprog program = {};
  program.len = static_cast<unsigned short>(count);
  program.filter = reinterpret_cast<sock_filter*>(const_cast<char*>(plan.Data(bytes)));
  return ErrorOf(Call(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}

}  // namespace cordon::launcher
