// Asks for a capability back: "capset", "ambient", "bounding", "dumpable" or "new-privileges".
#include <linux/capability.h>
#include <sys/prctl.h>

#include "probe.h"

int main(int argc, char** argv) {
  if (Chosen(argc, argv, "capset")) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0, 0, 0}, {0, 0, 0}};
    data[0].effective = data[0].permitted = 1U << CAP_CHOWN;
    return Say(syscall(SYS_capset, &header, data));
  }
  if (Chosen(argc, argv, "ambient")) {
    return Say(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_CHOWN, 0, 0));
  }
  if (Chosen(argc, argv, "new-privileges")) return Say(prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
  return Usage();
}
