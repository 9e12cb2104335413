#include "integration/support/real_server.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <system_error>
#include <vector>

#include "integration/support/listener.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

constexpr uid_t kNobody = 65534;

// Another program may take it before the server does.
int FreePort() { return Listener(Listener::Kind::kTcp).port(); }

bool SaysReady(Child& program, std::string_view ready) {
  std::string line;
  while (program.ReadLine(line, seconds(30))) {
    if (line.find(ready) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

RealServer::RealServer(const Ground& ground, std::string_view start, std::string_view ready) {
  constexpr int kTries = 3;
  bool is_ready = false;
  for (int i = 0; i < kTries && !is_ready; ++i) {
    std::error_code ignored;
    fs::remove_all(data_, ignored);
    data_ = (fs::temp_directory_path() / "cordon-server-XXXXXX").string();
    REQUIRE(mkdtemp(data_.data()) != nullptr);
    port_ = FreePort();
    std::vector<std::string> argv;
    if (geteuid() == 0) {
      REQUIRE(chown(data_.c_str(), kNobody, kNobody) == 0);
      argv = {"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
    }
    argv.insert(argv.end(), {"/bin/sh", "-c", "exec 2>&1; " + std::string(start)});
    ChildOptions options;
    options.directory = data_;
    options.environment = ground.environment();
    options.environment["HOME"] = options.environment["TMPDIR"] = data_;
    options.environment["DATA"] = data_;
    options.environment["PORT"] = std::to_string(port_);
    program_ = std::make_unique<Child>(std::move(argv), options);
    is_ready = SaysReady(*program_, ready);
  }
  REQUIRE(is_ready);
}

RealServer::~RealServer() {
  if (program_ != nullptr) {
    program_->Signal(SIGINT);  // So that it takes what it has in the system with it.
    (void)program_->Finish();
  }
  std::error_code ignored;
  fs::remove_all(data_, ignored);
}

Words RealServer::PolicyFor(std::uint16_t port) const {
  const std::string target = "granted.test:" + std::to_string(port);
  return {"--net", target, "--resolve", target + "=127.0.0.1:" + std::to_string(port_)};
}

}  // namespace cordon::test
