#include "egress_traffic.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "cordon/net-proxy/proxy.h"

namespace cordon::bench {
namespace {

sockaddr_in Loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

std::string FindProgram(const std::string& name) {
  for (const char* folder : {"/usr/sbin/", "/usr/bin/", "/usr/local/sbin/", "/usr/local/bin/"}) {
    if (access((folder + name).c_str(), X_OK) == 0) return folder + name;
  }
  return "";
}

}  // namespace

double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

pid_t Child(const std::function<void()>& body) {
  const pid_t parent = getpid();
  std::fflush(stdout);  // Or the child would print it again.
  const pid_t pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() == parent) body();
  _exit(0);
}

void EndChild(pid_t pid) {
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

UniqueFd Listen(std::uint16_t* port) {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  if (bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(fd.get(), 1024) != 0 ||
      getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    std::perror("listen");
    std::exit(1);
  }
  *port = ntohs(address.sin_port);
  return fd;
}

std::uint16_t FreePort() {
  std::uint16_t port = 0;
  const UniqueFd listener = Listen(&port);
  return port;
}

bool SendAll(int fd, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t count = send(fd, data, size, MSG_NOSIGNAL);
    if (count <= 0) return false;
    data += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

bool ReceiveAll(int fd, char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t count = recv(fd, data, size, 0);
    if (count <= 0) return false;
    data += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

pid_t StartServer(std::uint16_t* port, const std::function<void(int fd)>& serve) {
  const UniqueFd listener = Listen(port);
  return Child([&] {
    while (true) {
      UniqueFd fd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!fd.valid()) continue;
      std::thread([&serve, fd = std::move(fd)] {
        const int on = 1;
        setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        serve(fd.get());
      }).detach();
    }
  });
}

Relay StartOurs(std::uint16_t server) {
  int pipe_fds[2];
  if (pipe(pipe_fds) != 0) std::exit(1);
  Relay relay{"cordon", 0, 0};
  relay.pid = Child([&] {
    const auto proxy = NewEgressProxy({});
    EgressPlan plan;
    plan.execution_id = "bench";
    plan.targets = {{.host = "127.0.0.1", .port = server, .is_address = true}};
    const auto front = proxy.value()->ServeFront(plan, {});
    const std::uint16_t port = front.value()->port();
    if (write(pipe_fds[1], &port, sizeof port) != sizeof port) return;
    pause();
  });
  if (read(pipe_fds[0], &relay.port, sizeof relay.port) != sizeof relay.port) std::exit(1);
  close(pipe_fds[0]);
  close(pipe_fds[1]);
  return relay;
}

std::optional<Relay> StartPeer(const std::string& name, const std::string& folder,
                               std::string_view configuration,
                               const std::vector<std::string>& arguments, std::uint16_t port) {
  const std::string program = FindProgram(name);
  if (program.empty()) {
    std::printf("%s is not installed: left out\n", name.c_str());
    return std::nullopt;
  }
  std::ofstream(folder + "/" + name + ".conf") << configuration;
  Relay relay{name, port, 0};
  relay.pid = Child([&] {
    std::vector<char*> argv{const_cast<char*>(program.c_str())};
    for (const std::string& argument : arguments) {
      argv.push_back(const_cast<char*>(argument.c_str()));
    }
    argv.push_back(nullptr);
    if (std::freopen("/dev/null", "w", stdout) == nullptr) return;
    execv(program.c_str(), argv.data());
  });
  // It says nothing when it listens.
  for (const auto start = Clock::now(); !ConnectTo(port).valid();) {
    if (Since(start) > 10) {
      std::printf("%s did not start: left out\n", name.c_str());
      EndChild(relay.pid);
      return std::nullopt;
    }
    poll(nullptr, 0, 20);
  }
  return relay;
}

void SetDeadlines(int fd) {
  const timeval limit{10, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

UniqueFd ConnectTo(std::uint16_t port) {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  SetDeadlines(fd.get());
  const sockaddr_in address = Loopback(port);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return {};
  }
  return fd;
}

UniqueFd Connect(const Relay& relay, std::uint16_t server) {
  if (relay.port == 0) return ConnectTo(server);
  UniqueFd fd = ConnectTo(relay.port);
  const std::string target = "127.0.0.1:" + std::to_string(server);
  const std::string head = "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n";
  if (!fd.valid() || !SendAll(fd.get(), head.data(), head.size())) return {};
  std::string answer;
  char bytes[1024];
  while (answer.find("\r\n\r\n") == std::string::npos) {
    // The server says nothing before it is asked, so that all of this is the relay's.
    const ssize_t count = recv(fd.get(), bytes, sizeof bytes, 0);
    if (count <= 0) return {};
    answer.append(bytes, static_cast<std::size_t>(count));
  }
  return answer.find(" 200 ") == std::string::npos ? UniqueFd() : std::move(fd);
}

UniqueFd ConnectSocks(const Relay& relay, std::uint16_t server) {
  if (relay.port == 0) return ConnectTo(server);
  UniqueFd fd = ConnectTo(relay.port);
  std::string request("\5\1\0\5\1\0\1\x7f\0\0\1", 11);
  request.push_back(static_cast<char>(server >> 8));
  request.push_back(static_cast<char>(server & 0xff));
  char answer[12];
  const bool is_open = fd.valid() && SendAll(fd.get(), request.data(), request.size()) &&
                       ReceiveAll(fd.get(), answer, sizeof answer) && answer[3] == 0;
  return is_open ? std::move(fd) : UniqueFd();
}

void ResetOnClose(int fd) {
  const linger now{1, 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

std::size_t ResidentKiB(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  std::string word;
  std::size_t kib = 0;
  while (status >> word) {
    if (word == "VmRSS:") status >> kib;
  }
  return kib;
}

std::size_t Descriptors(pid_t pid) {
  std::size_t count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
    if (!entry.path().empty()) ++count;
  }
  return count;
}

double CpuSeconds(pid_t pid) {
  if (pid == 0) return 0;
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string word;
  double ticks = 0;
  for (int field = 1; field <= 15 && stat >> word; ++field) {
    if (field >= 14) ticks += std::atof(word.c_str());
  }
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace cordon::bench
