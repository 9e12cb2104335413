#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <csignal>
#include <string>
#include <thread>

#include "cordon/sdk/unique_fd.h"
#include "support/catch.h"
#include "support/child.h"
#include "support/cordon_run.h"

namespace cordon::test {
namespace {

using std::chrono::seconds;

UniqueFd Stream() {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit{5, 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  return fd;
}

std::string Ask(int port, const std::string& text) {
  const UniqueFd fd = Stream();
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return "none";
  send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
  std::string all;
  char bytes[4096];
  ssize_t count = 0;
  while ((count = recv(fd.get(), bytes, sizeof bytes, 0)) > 0) {
    all.append(bytes, static_cast<std::size_t>(count));
  }
  return all;
}

std::string Get(const std::string& host) {
  return "GET http://" + host + "/ HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n";
}

TEST_CASE("cordon proxy forwards to what it was told to and says at its end what it refused") {
  const UniqueFd listener = Stream();
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(listen(listener.get(), 8) == 0);
  REQUIRE(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  const std::string server = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));

  Child child({CordonProgram(), "proxy", "--net", "granted.test:80", "--resolve",
               "granted.test:80=" + server, "--resolve", "other.test:80=" + server},
              {});
  std::string line;
  REQUIRE(child.ReadLine(line, seconds(10)));
  REQUIRE(line.find("listening on 127.0.0.1:") == 0);
  const int port = std::stoi(line.substr(line.rfind(':') + 1));

  std::thread answer([&listener] {
    const UniqueFd peer(accept(listener.get(), nullptr, nullptr));
    char bytes[4096];
    if (recv(peer.get(), bytes, sizeof bytes, 0) <= 0) return;
    const std::string text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    send(peer.get(), text.data(), text.size(), MSG_NOSIGNAL);
  });
  const std::string granted = Ask(port, Get("granted.test"));
  answer.join();
  CHECK(granted.find("hello") != std::string::npos);
  CHECK(Ask(port, Get("other.test")).find("HTTP/1.1 403") == 0);
  child.Signal(SIGTERM);
  const Ended ended = child.Finish("", seconds(10));
  CHECK(ended.status == 0);
  CHECK(ended.err.find("tcp:other.test:80 was refused 1 times") != std::string::npos);
  CHECK(ended.err.find("--net other.test:80") != std::string::npos);
}

TEST_CASE("cordon proxy says what is wrong with its options") {
  for (const auto& [option, value] : {std::pair{"--listen", "nowhere"},
                                      {"--listen", "example.com:80"},
                                      {"--net", "a b:80"},
                                      {"--resolve", "x=y"},
                                      {"--upstream", "ftp://proxy:1"},
                                      {"--listen", "127.0.0.1:*"}}) {
    INFO(option << " " << value);
    Child child({CordonProgram(), "proxy", option, value}, {});
    const Ended ended = child.Finish("", seconds(10));
    CHECK(ended.status == 125);
    CHECK(ended.err.find("cordon: ") == 0);
  }
}

}  // namespace
}  // namespace cordon::test
