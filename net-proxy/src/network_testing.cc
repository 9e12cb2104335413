#include "network_testing.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/ipv6.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <future>
#include <thread>

#include "cordon/sdk/status.h"
#include "dns_message.h"
#include "endpoint.h"
#include "socket_calls.h"

namespace cordon::internal::egress {
namespace {

struct Request {
  int family = 0;  // 0: route `address`.
  int type = 0;
  char address[64] = "";
};

bool WriteFile(const char* path, const std::string& text) {
  const UniqueFd fd(open(path, O_WRONLY | O_CLOEXEC));
  return fd.valid() &&
         write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// An IPv4 address on lo; all of its prefix is local then, as 127.0.0.0/8 is.
bool AddV4(const std::string& label, const char* address, const char* mask) {
  const UniqueFd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  for (const auto& [request, text] : {std::pair{SIOCSIFADDR, address}, {SIOCSIFNETMASK, mask}}) {
    ifreq entry{};
    std::snprintf(entry.ifr_name, sizeof entry.ifr_name, "%s", label.c_str());
    const SocketAddress value = ToSocketAddress({*IpAddress::Parse(text), 0});
    std::memcpy(&entry.ifr_addr, &value.storage, sizeof entry.ifr_addr);
    if (ioctl(fd.get(), static_cast<unsigned long>(request), &entry) != 0) return false;
  }
  return true;
}

bool AddV6(const IpAddress& address) {
  const UniqueFd fd(socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  in6_ifreq entry{};
  std::memcpy(&entry.ifr6_addr, address.bytes.data(), 16);
  entry.ifr6_prefixlen = 128;
  entry.ifr6_ifindex = 1;
  return ioctl(fd.get(), SIOCSIFADDR, &entry) == 0;
}

bool RaiseLoopback() {
  const UniqueFd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq entry{};
  std::snprintf(entry.ifr_name, sizeof entry.ifr_name, "lo");
  entry.ifr_flags = IFF_UP;
  return ioctl(fd.get(), SIOCSIFFLAGS, &entry) == 0;
}

bool EnterNamespace() {
  const uid_t uid = getuid();
  const gid_t gid = getgid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
  WriteFile("/proc/self/setgroups", "deny");
  return WriteFile("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1") &&
         WriteFile("/proc/self/gid_map", "0 " + std::to_string(gid) + " 1") && RaiseLoopback() &&
         AddV4("lo:1", kSandboxAddress, "255.255.255.255") &&
         AddV4("lo:2", kGatewayAddress, "255.255.255.255") &&
         AddV4("lo:3", "198.18.0.0", "255.254.0.0");
}

void Reply(int channel, int error, int fd) {
  iovec part{&error, sizeof error};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  (void)sendmsg(channel, &message, MSG_NOSIGNAL);
}

[[noreturn]] void Serve(int channel) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The listeners of whoever forked must end with it.
  close_range(3, static_cast<unsigned>(channel) - 1, 0);
  close_range(static_cast<unsigned>(channel) + 1, ~0U, 0);
  if (!EnterNamespace()) _exit(1);
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // unshare(2) has cleared it.
  Reply(channel, 0, -1);
  int labels = 4;
  Request request;
  while (recv(channel, &request, sizeof request, 0) == static_cast<ssize_t>(sizeof request)) {
    if (request.family != 0) {
      const UniqueFd fd(socket(request.family, request.type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      Reply(channel, fd.valid() ? 0 : errno, fd.get());
      continue;
    }
    const IpAddress address = *IpAddress::Parse(request.address);
    const bool done =
        address.is_v6 ? AddV6(address)
                      : AddV4("lo:" + std::to_string(labels++), request.address, "255.255.255.255");
    Reply(channel, done ? 0 : errno, -1);
  }
  _exit(0);
}

// The errno that the helper answers with, and the descriptor that may come along.
int Receive(int channel, UniqueFd& fd) {
  int error = EPIPE;
  iovec part{&error, sizeof error};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (recvmsg(channel, &message, MSG_CMSG_CLOEXEC) <= 0) return EPIPE;
  if (const cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr) {
    int received = -1;
    std::memcpy(&received, CMSG_DATA(header), sizeof received);
    fd.Reset(received);
  }
  return error;
}

}  // namespace

std::shared_ptr<TestNetwork> TestNetwork::Create() {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return nullptr;
  UniqueFd ours(pair[0]);
  UniqueFd theirs(pair[1]);
  // ThreadSanitizer gives the child of a process with one thread a second thread, and a process
  // with two makes no user namespace.
  std::promise<void> forked;
  std::thread second([done = forked.get_future()] { done.wait(); });
  const pid_t pid = fork();
  if (pid != 0) {
    forked.set_value();
    second.join();
  }
  if (pid < 0) return nullptr;
  if (pid == 0) Serve(theirs.get());
  theirs.Reset();
  UniqueFd none;
  if (Receive(ours.get(), none) != 0) {
    waitpid(pid, nullptr, 0);
    return nullptr;
  }
  return std::shared_ptr<TestNetwork>(new TestNetwork(std::move(ours), pid));
}

TestNetwork::~TestNetwork() {
  channel_.Reset();
  waitpid(pid_, nullptr, 0);
}

absl::StatusOr<UniqueFd> TestNetwork::MakeSocket(Side /*side*/, int family, int type) {
  const std::lock_guard lock(mutex_);
  const Request request{family, type, ""};
  (void)send(channel_.get(), &request, sizeof request, MSG_NOSIGNAL);
  UniqueFd fd;
  const int error = Receive(channel_.get(), fd);
  if (error != 0) return MakeErrnoError(error, "cannot make a socket in the test's namespace");
  return fd;
}

absl::StatusOr<UniqueFd> TestNetwork::ListenAtEveryPort() {
  return MakeError(ErrorCode::kUnavailable, "a test network has no packet rules");
}

absl::Status TestNetwork::RouteAddress(const std::string& address) {
  const std::lock_guard lock(mutex_);
  Request request;
  std::snprintf(request.address, sizeof request.address, "%s", address.c_str());
  (void)send(channel_.get(), &request, sizeof request, MSG_NOSIGNAL);
  UniqueFd none;
  const int error = Receive(channel_.get(), none);
  return error == 0 ? absl::OkStatus() : MakeErrnoError(error, "cannot route " + address);
}

TestStream::TestStream(UniqueFd fd) : fd_(std::move(fd)) {
  const timeval limit{5, 0};
  setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  fcntl(fd_.get(), F_SETFL, fcntl(fd_.get(), F_GETFL) & ~O_NONBLOCK);
}

TestStream TestStream::Connect(SandboxNetwork* network, const std::string& address,
                               std::uint16_t port) {
  const Endpoint peer{*IpAddress::Parse(address), port};
  const int family = peer.ip.is_v6 ? AF_INET6 : AF_INET;
  absl::StatusOr<UniqueFd> fd =
      network == nullptr ? MakeHostSocket(family, SOCK_STREAM)
                         : network->MakeSocket(SandboxNetwork::Side::kSandbox, family, SOCK_STREAM);
  if (!fd.ok()) return {};
  TestStream stream(*std::move(fd));
  const SocketAddress target = ToSocketAddress(peer);
  if (connect(stream.fd(), target.get(), target.size) != 0) return {};
  return stream;
}

bool TestStream::Write(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

void TestStream::EndWriting() const { shutdown(fd_.get(), SHUT_WR); }

std::string TestStream::ReadAll(bool* reset) const {
  std::string all;
  char bytes[65536];
  ssize_t count = 0;
  while ((count = recv(fd_.get(), bytes, sizeof bytes, 0)) > 0) {
    all.append(bytes, static_cast<std::size_t>(count));
  }
  if (reset != nullptr) *reset = count < 0 && errno == ECONNRESET;
  if (count < 0 && errno == EAGAIN) all += "[timed out]";
  return all;
}

std::string TestStream::Read(std::size_t count) const {
  std::string all(count, '\0');
  std::size_t at = 0;
  while (at < count) {
    const ssize_t got = recv(fd_.get(), all.data() + at, count - at, 0);
    if (got <= 0) break;
    at += static_cast<std::size_t>(got);
  }
  all.resize(at);
  return all;
}

HeldPort::HeldPort() : holder_(*MakeHostSocket(AF_INET, SOCK_STREAM)) {
  const SocketAddress any = ToSocketAddress({IpAddress::V4(0x7f000001), 0});
  const int on = 1;
  if (bind(holder_.get(), any.get(), any.size) != 0) return;
  (void)setsockopt(holder_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  number_ = LocalEndpoint(holder_.get()).port;
}

TestServer::TestServer(std::function<void(const TestStream&)> serve)
    : stop_(eventfd(0, EFD_CLOEXEC)), serve_(std::move(serve)) {
  listener_ = *MakeHostSocket(AF_INET, SOCK_STREAM);
  (void)BindAndListen(listener_.get(), {IpAddress::V4(0x7f000001), 0}, SOCK_STREAM, "a test");
  port_ = LocalEndpoint(listener_.get()).port;
  acceptor_ = std::thread([this] {
    while (true) {
      pollfd ready[] = {{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
      if (poll(ready, 2, -1) < 0 || ready[1].revents != 0) return;
      UniqueFd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!fd.valid()) continue;
      ++connections_;
      threads_.emplace_back([this, stream = std::make_shared<TestStream>(std::move(fd))] {
        serve_(*stream);
        stream->Close();
      });
    }
  });
}

TestServer::~TestServer() {
  const std::uint64_t one = 1;
  (void)!write(stop_.get(), &one, sizeof one);
  acceptor_.join();
  for (std::thread& thread : threads_) thread.join();
}

void ServeHttp(const TestStream& stream) {
  std::string head;
  char c = 0;
  while (recv(stream.fd(), &c, 1, 0) == 1) {
    head.push_back(c);
    if (!head.ends_with("\r\n\r\n")) continue;
    const std::string body = "you asked " + head;
    stream.Write("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
                 body);
    if (head.find("Connection: close") != std::string::npos) return;
    head.clear();
  }
}

void ServeEcho(const TestStream& stream) {
  char bytes[65536];
  ssize_t count = 0;
  while ((count = recv(stream.fd(), bytes, sizeof bytes, 0)) > 0) {
    if (!stream.Write({bytes, static_cast<std::size_t>(count)})) return;
  }
  stream.EndWriting();
}

namespace {

std::string QueryFor(std::string_view name, std::uint16_t type) {
  std::string query("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00", 12);
  while (!name.empty()) {
    const std::size_t dot = std::min(name.find('.'), name.size());
    query.push_back(static_cast<char>(dot));
    query += name.substr(0, dot);
    name.remove_prefix(std::min(dot + 1, name.size()));
  }
  query.push_back('\0');
  query.push_back(static_cast<char>(type >> 8));
  query.push_back(static_cast<char>(type & 0xff));
  return query + std::string("\0\1", 2);
}

std::string AnswerText(const std::string& answer, const std::string& query, std::uint16_t type) {
  if (answer.size() < query.size()) return "no answer";
  if (answer[7] == 0) return "code " + std::to_string(answer[3] & 0xf);
  IpAddress address;
  address.is_v6 = type == kDnsTypeAaaa;
  std::memcpy(address.bytes.data(), answer.data() + query.size() + 12, address.is_v6 ? 16 : 4);
  return address.Text();
}

}  // namespace

std::string Resolve(SandboxNetwork& network, std::string_view name, std::uint16_t type) {
  const std::string query = QueryFor(name, type);
  absl::StatusOr<UniqueFd> fd =
      network.MakeSocket(SandboxNetwork::Side::kSandbox, AF_INET, SOCK_DGRAM);
  if (!fd.ok()) return "no socket";
  const TestStream socket(*std::move(fd));
  const SocketAddress resolver = ToSocketAddress({*IpAddress::Parse(kGatewayAddress), 53});
  if (connect(socket.fd(), resolver.get(), resolver.size) != 0) return "no route";
  if (send(socket.fd(), query.data(), query.size(), 0) < 0) return "not sent";
  char bytes[1500];
  const ssize_t size = recv(socket.fd(), bytes, sizeof bytes, 0);
  if (size < 0) return "no answer";
  return AnswerText(std::string(bytes, static_cast<std::size_t>(size)), query, type);
}

std::string Resolve(const TestStream& stream, std::string_view name, std::uint16_t type) {
  const std::string query = QueryFor(name, type);
  (void)stream.Write(std::string{'\0', static_cast<char>(query.size())} + query);
  const std::string size = stream.Read(2);
  if (size.size() != 2) return "no answer";
  const auto bytes = static_cast<std::size_t>(static_cast<unsigned char>(size[1]));
  return AnswerText(stream.Read(bytes), query, type);
}

bool Eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    poll(nullptr, 0, 5);
  }
  return true;
}

}  // namespace cordon::internal::egress
