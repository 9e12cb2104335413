#include "upstream_connect.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "cordon/sdk/command.h"
#include "socket_calls.h"

namespace cordon::internal::egress {
namespace {

constexpr std::size_t kMaxAnswerBytes = std::size_t{16} * 1024;

}  // namespace

std::string ConnectRequest(const NetworkTarget& target, std::string_view credential) {
  const std::string text = NetworkTargetText(target);
  std::string request = absl::StrCat("CONNECT ", text, " HTTP/1.1\r\nHost: ", text, "\r\n");
  if (!credential.empty()) {
    absl::StrAppend(&request, "Proxy-Authorization: Basic ",
                    absl::Base64Escape(std::string(credential)), "\r\n");
  }
  return request + "\r\n";
}

ConnectAnswer ParseConnectAnswer(std::string_view bytes) {
  ConnectAnswer answer;
  const std::string_view start = "HTTP/1.";
  const bool is_http = bytes.substr(0, start.size()) == start.substr(0, bytes.size());
  const std::size_t end = bytes.find("\r\n\r\n");
  if (!is_http || (end == std::string_view::npos && bytes.size() >= kMaxAnswerBytes)) {
    answer.is_complete = true;
    answer.problem = "the upstream proxy does not speak HTTP";
    return answer;
  }
  if (end == std::string_view::npos) return answer;
  answer.is_complete = true;
  answer.size = end + 4;
  const std::string_view line = bytes.substr(0, bytes.find("\r\n"));
  // "HTTP/1.1 200 ..."
  if (line.size() < 12 || line[8] != ' ' || line[9] != '2') {
    answer.problem =
        absl::StrCat("the upstream proxy answered: ",
                     EscapeForDisplay(line.substr(0, std::min<std::size_t>(line.size(), 100))));
  }
  return answer;
}

UpstreamConnect::UpstreamConnect(EventLoop& loop, UniqueFd fd, std::string request, Done done)
    : loop_(loop), fd_(std::move(fd)), request_(std::move(request)), done_(std::move(done)) {}

UpstreamConnect::~UpstreamConnect() {
  if (fd_.valid()) loop_.Unwatch(fd_.get(), this);
}

bool UpstreamConnect::Start() {
  // A short text into an empty buffer.
  const ssize_t sent = Send(fd_.get(), request_.data(), request_.size());
  return sent == static_cast<ssize_t>(request_.size()) &&
         loop_.Watch(fd_.get(), EPOLLIN | EPOLLET, this);
}

void UpstreamConnect::OnIo(std::uint32_t /*events*/) {
  // Looked at first, so that no byte of the tunnel is taken.
  std::string bytes(kMaxAnswerBytes, '\0');
  const ssize_t count = recv(fd_.get(), bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return Finish("the upstream proxy closed the connection");
  const ConnectAnswer answer = ParseConnectAnswer({bytes.data(), static_cast<std::size_t>(count)});
  if (!answer.is_complete) return;  // Part of a head stays readable: the next edge brings more.
  if (answer.problem.empty()) {
    (void)Receive(fd_.get(), bytes.data(), answer.size);
  }
  Finish(answer.problem);
}

void UpstreamConnect::Finish(std::string problem) {
  loop_.Unwatch(fd_.get(), this);
  const Done done = std::move(done_);
  done(std::move(fd_), std::move(problem));  // This may be gone now.
}

}  // namespace cordon::internal::egress
