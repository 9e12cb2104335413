#include <set>
#include <string>

#include "mount_table.h"
#include "support/catch.h"
#include "unix_socket_table.h"

namespace cordon::internal {

TEST_CASE("the topmost mount at a path decides whether it is local", "[host_tables]") {
  const MountTable table = MountTable::Parse(
      "24 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
      "30 24 0:30 / /data rw shared:2 master:3 - ext4 /dev/sdb rw\n"
      "31 30 0:31 / /data rw - nfs4 server:/x rw\n"
      "32 24 0:32 / /with\\040blank\\134 rw - tmpfs none rw\n"
      "33 24 0:33 / /home/u/remote rw - fuse.sshfs host: rw\n"
      "not a line\n");
  CHECK(table.IsLocal("/"));
  CHECK_FALSE(table.IsLocal("/data"));
  CHECK(table.IsLocal("/with blank\\"));
  CHECK_FALSE(table.IsLocal("/home/u/remote"));
  CHECK_FALSE(table.IsLocal("/nothing/here"));
}

TEST_CASE("this process sees its root mounted", "[host_tables]") {
  // The root's type differs between hosts; reading the table must not fail.
  CHECK_FALSE(MountTable::OfThisProcess().IsLocal("/proc"));
}

TEST_CASE("a bound socket is known by the last part of its name", "[host_tables]") {
  const UnixSocketTable table = UnixSocketTable::Parse(
      "Num       RefCount Protocol Flags    Type St Inode Path\n"
      "0000000000000000: 00000002 00000000 00010000 0001 01 22130 /run/user/1000/bus\n"
      "0000000000000000: 00000003 00000000 00000000 0001 03 28201\n"
      "0000000000000000: 00000002 00000000 00010000 0001 01 22131 @/tmp/abstract\n"
      "0000000000000000: 00000002 00000000 00010000 0001 01 22132 relative with blank.sock\n");
  CHECK(table.MayBeBound("/run/user/1000/bus"));
  CHECK(table.MayBeBound("/w/relative with blank.sock"));
  CHECK_FALSE(table.MayBeBound("/w/abstract"));
  CHECK_FALSE(table.MayBeBound("/w/left-behind.sock"));
  CHECK(table.paths() == std::set<std::string>{"/run/user/1000/bus"});
}

TEST_CASE("without the host's table every socket may be bound", "[host_tables]") {
  CHECK(UnixSocketTable::Parse("").MayBeBound("/w/x.sock"));
}

}  // namespace cordon::internal
