// cordon-agent: a small coding assistant whose shell commands go through cordon.

#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "cordon/sandbox/executor_set.h"
#include "cordon/sdk/status.h"
#include "demo.h"
#include "model_choice.h"
#include "task.h"
#include "terminal.h"

namespace {

using cordon::agent::Terminal;

constexpr std::string_view kUsage =
    "usage: cordon-agent --demo [--provider anthropic|openai] [--model NAME]\n"
    "       cordon-agent [-w DIR] [--provider anthropic|openai] [--model NAME] [--transcript FILE] "
    "TASK\n"
    "\n"
    "--demo lets a scripted model, which needs no key and no network, find and fix a bug in a "
    "small C\n"
    "project in a temporary folder; with --provider a real model does it. With a TASK a real "
    "model\n"
    "works in DIR, the current folder by default, and each command is asked for at the terminal;\n"
    "--yes approves everything without a person, for tests.\n"
    "Commands are prepared, approved, confined and reported by cordon (--backend auto|namespaces|\n"
    "landlock). Keys come from ANTHROPIC_API_KEY or OPENAI_API_KEY and never reach a command;\n"
    "ANTHROPIC_BASE_URL or OPENAI_BASE_URL name another server, ANTHROPIC_MODEL or OPENAI_MODEL a\n"
    "model. Ctrl-C ends what runs. The exit status is 0 when everything came out as it should, 1 "
    "when\n"
    "something did not, 125 when nothing could be started.\n";

constexpr int kNotStarted = 125;

int Fail(const absl::Status& status) {
  std::cerr << "cordon-agent: " << status.message() << '\n';
  return cordon::Is(status, cordon::ErrorCode::kCancelled) ? 1 : kNotStarted;
}

// Turns Ctrl-C and a request to end into a stop, for as long as it lives.
class StopOnSignal {
 public:
  StopOnSignal() {
    sigemptyset(&signals_);
    for (const int signal : {SIGINT, SIGTERM}) sigaddset(&signals_, signal);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    thread_ = std::jthread([this](const std::stop_token& done) {
      const timespec pause{0, 100'000'000};
      while (!done.stop_requested()) {
        if (sigtimedwait(&signals_, nullptr, &pause) > 0) stop_.request_stop();
      }
    });
  }
  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }

 private:
  sigset_t signals_;
  std::stop_source stop_;
  std::jthread thread_;
};

struct Arguments {
  bool demo = false;
  bool help = false;
  bool yes = false;
  std::string provider;
  std::string model;
  std::string workspace;
  std::string transcript;
  std::string task;
  cordon::Backend backend = cordon::Backend::kAuto;
};

bool AtTerminal() { return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1; }

// A model that shows what it says as it comes.
absl::StatusOr<std::unique_ptr<cordon::agent::Model>> Connect(cordon::agent::ModelChoice choice,
                                                              Terminal& terminal) {
  choice.endpoint.on_text = [&terminal](std::string_view line) { terminal.ModelLine(line); };
  choice.endpoint.on_retry = [&terminal](std::string_view why, std::chrono::milliseconds pause) {
    terminal.Line(absl::StrFormat("(%s; again in %.1f s)", std::string(why),
                                  static_cast<double>(pause.count()) / 1000),
                  cordon::agent::Tone::kDim);
  };
  return ConnectModel(std::move(choice));
}

int Demo(const Arguments& arguments, Terminal& terminal) {
  const StopOnSignal stop;
  cordon::agent::DemoOptions options{AtTerminal(), arguments.backend, nullptr, ""};
  std::unique_ptr<cordon::agent::Model> model;
  if (!arguments.provider.empty()) {
    auto choice = cordon::agent::ChooseModel(arguments.provider, arguments.model);
    if (!choice.ok()) return Fail(choice.status());
    options.key = choice->endpoint.key;
    auto connected = Connect(*std::move(choice), terminal);
    if (!connected.ok()) return Fail(connected.status());
    model = *std::move(connected);
    options.model = model.get();
  }
  const absl::StatusOr<bool> all_hold = PlayDemo(terminal, options, stop.token());
  if (!all_hold.ok()) return Fail(all_hold.status());
  std::cout << (*all_hold ? "\nThe demo came out as it should.\n"
                          : "\nThe demo did not come out as it should.\n");
  return *all_hold ? 0 : 1;
}

int Work(const Arguments& arguments, Terminal& terminal) {
  auto choice = cordon::agent::ChooseModel(arguments.provider, arguments.model);
  if (!choice.ok()) return Fail(choice.status());
  const StopOnSignal stop;
  auto model = Connect(*std::move(choice), terminal);
  if (!model.ok()) return Fail(model.status());
  std::error_code error;
  cordon::agent::TaskOptions options;
  options.task = arguments.task;
  options.workspace =
      std::filesystem::canonical(arguments.workspace.empty() ? "." : arguments.workspace, error);
  if (error) {
    return Fail(cordon::MakeErrnoError(error.value(), "-w " + arguments.workspace));
  }
  options.transcript = arguments.transcript;
  options.ask_a_person = AtTerminal();
  options.approve_all = arguments.yes;
  options.backend = arguments.backend;
  options.model = model->get();
  const absl::Status status = WorkOnTask(terminal, options, stop.token());
  return status.ok() ? 0 : Fail(status);
}

std::optional<cordon::Backend> ParseBackend(std::string_view name) {
  if (name == "auto") return cordon::Backend::kAuto;
  if (name == "namespaces") return cordon::Backend::kNamespaces;
  if (name == "landlock") return cordon::Backend::kLandlock;
  return std::nullopt;
}

std::optional<Arguments> ParseArguments(const std::vector<std::string_view>& words) {
  Arguments arguments;
  const std::pair<std::string_view, std::string*> texts[] = {
      {"--provider", &arguments.provider},
      {"--model", &arguments.model},
      {"--transcript", &arguments.transcript},
      {"-w", &arguments.workspace}};
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string* text = nullptr;
    for (const auto& [name, value] : texts) text = words[i] == name ? value : text;
    const bool has_value = i + 1 < words.size();
    if (words[i] == "--demo") {
      arguments.demo = true;
    } else if (words[i] == "--help") {
      arguments.help = true;
    } else if (words[i] == "--yes") {
      arguments.yes = true;
    } else if (text != nullptr && has_value) {
      *text = words[++i];
    } else if (words[i] == "--backend" && has_value) {
      const std::optional<cordon::Backend> backend = ParseBackend(words[++i]);
      if (!backend.has_value()) return std::nullopt;
      arguments.backend = *backend;
    } else if (!words[i].starts_with('-') && arguments.task.empty()) {
      arguments.task = words[i];
    } else {
      return std::nullopt;
    }
  }
  return arguments;
}

}  // namespace

int main(int argc, char** argv) {
  cordon::Init();
  const std::optional<Arguments> arguments = ParseArguments({argv + 1, argv + argc});
  if (arguments.has_value() && arguments->help) {
    std::cout << kUsage;
    return 0;
  }
  Terminal terminal(std::cout, cordon::agent::WantsColor(STDOUT_FILENO));
  if (arguments.has_value() && arguments->demo && arguments->task.empty()) {
    return Demo(*arguments, terminal);
  }
  if (arguments.has_value() && !arguments->demo && !arguments->task.empty()) {
    return Work(*arguments, terminal);
  }
  std::cerr << kUsage;
  return 2;
}
