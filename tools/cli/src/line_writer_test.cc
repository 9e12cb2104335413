#include "line_writer.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "cordon/sdk/unique_fd.h"
#include "support/catch.h"

namespace cordon::cli {
namespace {

struct Stream {
  explicit Stream(bool is_socket) {
    int ends[2];
    if (is_socket) {
      REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    } else {
      REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    }
    reader.Reset(ends[0]);
    writer.Reset(ends[1]);
    std::signal(SIGPIPE, SIG_IGN);
  }
  [[nodiscard]] std::string Read(std::size_t size) const {
    std::string text;
    while (text.size() < size) {
      char buffer[65536];
      const ssize_t got = read(reader.get(), buffer, sizeof buffer);
      if (got <= 0) break;
      text.append(buffer, static_cast<std::size_t>(got));
    }
    return text;
  }
  UniqueFd reader;
  UniqueFd writer;
};

bool IsReadable(int fd, int milliseconds) {
  pollfd entry = {fd, POLLIN, 0};
  return poll(&entry, 1, milliseconds) > 0;
}

TEST_CASE("lines come out whole and in order, through a pipe and through a socket") {
  for (const bool is_socket : {false, true}) {
    const Stream stream(is_socket);
    LineWriter writer(stream.writer.get());
    std::string expected;
    for (int i = 0; i < 3000; ++i) {
      const std::string line = std::to_string(i) + std::string(100, 'x');
      writer.Write(line);  // More than either holds.
      expected += line + "\n";
    }
    CHECK(stream.Read(expected.size()) == expected);
    CHECK_FALSE(IsReadable(writer.overflow_fd(), 0));
  }
}

TEST_CASE("a reader that takes nothing makes nobody wait, and is given up when too much waits") {
  for (const bool is_socket : {false, true}) {
    const Stream stream(is_socket);
    LineWriter writer(stream.writer.get(), 4 << 20);
    const std::string line(1 << 20, 'x');
    writer.Write(line);
    CHECK_FALSE(IsReadable(writer.overflow_fd(), 0));  // The control.
    for (int i = 0; i < 8; ++i) writer.Write(line);
    CHECK(IsReadable(writer.overflow_fd(), 1000));
  }
}

TEST_CASE("what is waiting at the end still comes out") {
  const Stream stream(false);
  { const LineWriter unused(stream.writer.get()); }
  {
    LineWriter writer(stream.writer.get());
    writer.Write("last words");
  }
  CHECK(stream.Read(11) == "last words\n");
}

TEST_CASE("a reader that is gone ends the writing") {
  Stream stream(false);
  LineWriter writer(stream.writer.get());
  stream.reader.Reset();
  for (int i = 0; i < 100; ++i) writer.Write(std::string(1 << 20, 'x'));
}

}  // namespace
}  // namespace cordon::cli
