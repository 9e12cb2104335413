// For tests: plans, overrides and a proxy on a throw-away network.

#ifndef CORDON_NET_PROXY_SRC_PROXY_TESTING_H_
#define CORDON_NET_PROXY_SRC_PROXY_TESTING_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cordon/net-proxy/proxy.h"
#include "cordon/sdk/log_sink.h"
#include "network_testing.h"

namespace cordon::internal::egress {

inline NetworkTarget Target(std::string_view text) { return ParseNetworkTarget(text).value(); }

inline EgressOverride To(const std::string& target, std::uint16_t port) {
  return ParseEgressOverride(target + "=127.0.0.1:" + std::to_string(port)).value();
}

inline EgressPlan Plan(const std::vector<std::string>& targets) {
  EgressPlan plan;
  plan.execution_id = "execution";
  for (const std::string& target : targets) plan.targets.push_back(Target(target));
  return plan;
}

inline bool HasDenial(const EgressSession& session, const std::string& target,
                      const std::string& allow_with) {
  const std::vector<Denial> denials = session.Denials();
  return std::any_of(denials.begin(), denials.end(), [&](const Denial& denial) {
    return denial.kind == "network" && denial.target == target && denial.count >= 1 &&
           !denial.reason.empty() && denial.allow_with.find(allow_with) != std::string::npos;
  });
}

// One session with its own network, where `targets` are granted.
struct Served {
  std::shared_ptr<TestNetwork> network = TestNetwork::Create();
  std::unique_ptr<EgressProxy> proxy;
  std::unique_ptr<EgressSession> session;

  // False when this host makes no user namespaces.
  [[nodiscard]] bool Start(EgressProxyOptions options, EgressPlan plan) {
    if (network == nullptr) return false;
    proxy = NewEgressProxy(std::move(options)).value();
    session = proxy->Serve(std::move(plan), network).value();
    return true;
  }
  [[nodiscard]] TestStream Connect(const std::string& name, std::uint16_t port) const {
    const std::string address = Resolve(*network, name);
    if (address.starts_with("code")) return {};
    return TestStream::Connect(network.get(), address, port);
  }
};

inline EgressProxyOptions With(const std::string& target, const TestServer& server) {
  EgressProxyOptions options;
  options.overrides = {To(target, server.port())};
  return options;
}

// An explicit front; its clients are on the host.
struct Front {
  std::unique_ptr<NetProxy> proxy;
  std::unique_ptr<EgressFront> front;

  Front(EgressProxyOptions options, EgressPlan plan, const std::string& credential = "") {
    proxy = NewEgressProxy(std::move(options)).value();
    EgressFrontOptions where;
    where.credential = credential;
    front = proxy->ServeFront(std::move(plan), where).value();
  }
  [[nodiscard]] TestStream Connect() const {
    return TestStream::Connect(nullptr, "127.0.0.1", front->port());
  }
  // All that the proxy and the server say to `text`.
  [[nodiscard]] std::string Ask(const std::string& text) const {
    const TestStream stream = Connect();
    stream.Write(text);
    return stream.ReadAll();
  }
};

// Remembers each record as a line: `KEY=VALUE ` of every field, the event, the execution.
class LinesLog final : public LogSink {
 public:
  absl::Status Append(const LogRecord& record) override {
    std::string line;
    for (const auto& [key, value] : record.fields) line.append(key + "=" + value + " ");
    line += record.event + " " + record.execution_id;
    const std::lock_guard lock(mutex_);
    lines_.push_back(line);
    return absl::OkStatus();
  }
  // Waits for a record with all of `parts`.
  [[nodiscard]] bool Has(const std::vector<std::string>& parts) const {
    return Eventually([&] {
      const std::lock_guard lock(mutex_);
      return std::any_of(lines_.begin(), lines_.end(), [&parts](const std::string& line) {
        return std::all_of(parts.begin(), parts.end(), [&line](const std::string& part) {
          return line.find(part) != std::string::npos;
        });
      });
    });
  }
  [[nodiscard]] std::string Text() const {
    const std::lock_guard lock(mutex_);
    std::string text;
    for (const std::string& line : lines_) text += line + "\n";
    return text;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_PROXY_TESTING_H_
