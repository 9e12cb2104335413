#include "relay.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <limits>
#include <string>

#include "support/catch.h"

namespace cordon::cli {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

struct Pipe {
  Pipe() {
    std::array<int, 2> fds{};
    REQUIRE(::pipe2(fds.data(), O_CLOEXEC) == 0);
    read.Reset(fds[0]);
    write.Reset(fds[1]);
  }
  UniqueFd read;
  UniqueFd write;
};

// Turns the relay until it ends or nothing moves any more; returns what it moved.
std::uint64_t Turn(Relay& relay, std::uint64_t limit) {
  std::uint64_t moved = 0;
  for (int turns = 0; turns < 1000 && !relay.ended(); ++turns) {
    std::array<pollfd, 2> entries{};
    relay.Watch(entries.data());
    if (::poll(entries.data(), entries.size(), 0) == 0) break;
    moved += relay.Advance(entries.data(), limit - moved);
  }
  return moved;
}

void Put(const UniqueFd& fd, std::string_view text) {
  REQUIRE(::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
}

std::string Take(const UniqueFd& fd) {
  std::string text(1 << 16, '\0');
  pollfd entry{fd.get(), POLLIN, 0};
  if (::poll(&entry, 1, 0) == 0) return "";
  const ssize_t got = ::read(fd.get(), text.data(), text.size());
  REQUIRE(got >= 0);
  text.resize(static_cast<std::size_t>(got));
  return text;
}

TEST_CASE("a relay passes bytes on unchanged and ends at the end of its source") {
  Pipe from;
  Pipe to;
  Relay relay(std::move(from.read), std::move(to.write));
  const std::string bytes("a\0\xff\nb", 5);
  Put(from.write, bytes);
  CHECK(Turn(relay, kUnlimited) == bytes.size());
  CHECK(Take(to.read) == bytes);
  CHECK_FALSE(relay.ended());
  from.write.Reset();
  Turn(relay, kUnlimited);
  CHECK(relay.ended());
}

TEST_CASE("a full destination blocks nothing and loses nothing") {
  Pipe from;
  Pipe to;
  REQUIRE(::fcntl(to.write.get(), F_SETPIPE_SZ, 4096) > 0);
  Relay relay(std::move(from.read), std::move(to.write));
  const std::string bytes(20'000, 'x');
  Put(from.write, bytes);
  std::string got;
  for (int turns = 0; turns < 100 && got.size() < bytes.size(); ++turns) {
    Turn(relay, kUnlimited);
    got += Take(to.read);
  }
  CHECK(got == bytes);
}

TEST_CASE("a relay ends when nobody reads any more, which its source then notices") {
  ::signal(SIGPIPE, SIG_IGN);
  Pipe from;
  Pipe to;
  Relay relay(std::move(from.read), std::move(to.write));
  to.read.Reset();
  Turn(relay, kUnlimited);
  CHECK(relay.ended());
  CHECK(::write(from.write.get(), "x", 1) == -1);
  CHECK(errno == EPIPE);
}

TEST_CASE("output that ends exactly at the limit is whole, and one byte more is an overflow") {
  for (const bool more : {false, true}) {
    CAPTURE(more);
    Pipe from;
    Pipe to;
    Relay relay(std::move(from.read), std::move(to.write));
    Put(from.write, more ? "12345" : "1234");
    from.write.Reset();
    CHECK(Turn(relay, 4) == 4);
    CHECK(Take(to.read) == "1234");
    CHECK(relay.ended());
    CHECK(relay.overflowed() == more);
  }
}

TEST_CASE("a file that is open for appending gets everything, though it cannot be spliced to") {
  Pipe from;
  std::string name = "/tmp/cordon-relay-XXXXXX";
  if (const char* folder = ::getenv("TMPDIR")) name = std::string(folder) + "/cordon-relay-XXXXXX";
  const int fd = ::mkstemp(name.data());
  REQUIRE(fd >= 0);
  const UniqueFd file(fd);
  UniqueFd append(::open(name.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  ::unlink(name.c_str());
  Relay relay(std::move(from.read), std::move(append));
  Put(from.write, std::string(10'000, 'y'));
  from.write.Reset();
  CHECK(Turn(relay, kUnlimited) == 10'000);
  CHECK(relay.ended());
  CHECK(::lseek(file.get(), 0, SEEK_END) == 10'000);
}

TEST_CASE("a relay without a source or a destination has ended from the start") {
  Pipe pipe;
  CHECK(Relay(UniqueFd(), std::move(pipe.write)).ended());
  CHECK(Relay(std::move(pipe.read), UniqueFd()).ended());
}

}  // namespace
}  // namespace cordon::cli
