#include "terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cordon/sdk/status.h"
#include "prompt.h"
#include "terminal_screen.h"
#include "utf8.h"

namespace cordon::internal {
namespace {

// The bytes of one key press, or of a paste, arrive within this time.
constexpr std::chrono::milliseconds kKeySettles{30};
constexpr std::size_t kMaxWords = 2000;

absl::Status NobodyThere(std::string_view why) {
  return MakeError(ErrorCode::kNoApprover,
                   "needs an approval, but nobody can be asked: " + std::string(why));
}

// When a person who does not look at the screen is told how much time is left.
constexpr std::chrono::seconds kReminders[] = {std::chrono::seconds(60), std::chrono::seconds(30),
                                               std::chrono::seconds(10)};

using Answers = std::vector<ApprovalAnswer>;

// One card on one terminal.
class Dialogue {
 public:
  Dialogue(int fd, absl::Span<const ApprovalCard> cards, const TerminalPromptOptions& options,
           const std::stop_token& stop)
      : fd_(fd),
        cards_(cards),
        expires_(cards.front().expires),
        options_(options),
        stop_(stop),
        state_(cards.size()),
        mode_(fd),
        screen_(fd, stop) {
    for (const ApprovalCard& card : cards) expires_ = std::min(expires_, card.expires);
  }

  absl::StatusOr<Answers> Run() {
    if (!mode_.valid() || !mode_.SetKeys()) return NobodyThere("this is not a terminal");
    tcflush(fd_, TCIFLUSH);
    const absl::StatusOr<bool> read = ShowAll();
    if (!read.ok()) return read.status();
    if (!*read) return Deny("");
    while (true) {
      absl::StatusOr<PromptKey> key = NextKey();
      if (!key.ok()) return key.status();
      switch (key->choice) {
        case PromptChoice::kToggle:
          state_.marked[key->call] = !state_.marked[key->call];
          if (!ShowChoices()) return Failed("the terminal is gone");
          continue;
        case PromptChoice::kNextForm:
          state_.form = (state_.form + 1) % (cards_.front().wider.size() + 1);
          if (!ShowChoices()) return Failed("the terminal is gone");
          continue;
        case PromptChoice::kDenyWithWords:
          return AskForWords();
        case PromptChoice::kNone:
        case PromptChoice::kDeny:
        case PromptChoice::kOnce:
        case PromptChoice::kSession:
        case PromptChoice::kAlways:
        case PromptChoice::kInterrupt:
          break;
      }
      if (!Say(ChoiceText(key->choice))) return Failed("the terminal is gone");
      switch (key->choice) {
        case PromptChoice::kNone:
        case PromptChoice::kToggle:
        case PromptChoice::kNextForm:
        case PromptChoice::kDenyWithWords:
          continue;
        case PromptChoice::kDeny:
          return Deny("");
        case PromptChoice::kOnce:
          return Approve(Remember::kOnce);
        case PromptChoice::kSession:
          return Approve(Remember::kSession);
        case PromptChoice::kAlways:
          return Approve(Remember::kAlways);
        case PromptChoice::kInterrupt:
          return MakeError(ErrorCode::kCancelled, "interrupted at the question");
      }
    }
  }

 private:
  [[nodiscard]] PromptStyle Style() const {
    winsize size{};
    PromptStyle style;
    style.color = options_.color;
    if (ioctl(fd_, TIOCGWINSZ, &size) != 0) return style;
    if (size.ws_col > 0) style.columns = size.ws_col;
    if (size.ws_row > 0) style.rows = size.ws_row;
    return style;
  }

  [[nodiscard]] std::chrono::seconds SecondsLeft() const {
    return std::chrono::ceil<std::chrono::seconds>(expires_ - std::chrono::steady_clock::now());
  }

  [[nodiscard]] Answers Deny(const std::string& words) const {
    Answers answers;
    for (const ApprovalCard& card : cards_) {
      answers.push_back({false, Remember::kOnce, words, card.digest, 0});
    }
    return answers;
  }

  [[nodiscard]] Answers Approve(Remember remember) const {
    Answers answers;
    for (std::size_t i = 0; i < cards_.size(); ++i) {
      // A call that offers less is not remembered for longer than it offers.
      Remember how = remember;
      if (how == Remember::kAlways && !cards_[i].can_persist) how = Remember::kSession;
      if (how == Remember::kSession && cards_[i].would_store.empty()) how = Remember::kOnce;
      const bool yes = state_.marked[i];
      answers.push_back({yes, yes ? how : Remember::kOnce, "", cards_[i].digest,
                         cards_.size() == 1 ? state_.form : 0});
    }
    return answers;
  }

  // A countdown that stands on the line is wiped first.
  bool Put(const std::string& text) {
    const std::string wiped = std::exchange(counting_, false) ? "\r\x1b[K" + text : text;
    return screen_.Show(wiped, expires_);
  }
  bool Say(std::string_view text) { return Put("  " + std::string(text) + "\n"); }

  // The question page by page, then the choices; false when a person refused between two pages.
  absl::StatusOr<bool> ShowAll() {
    shown_ = Style();
    const std::size_t room = shown_.rows > 4 ? shown_.rows - 2 : shown_.rows;
    std::string text = RenderQuestion(cards_, shown_);
    const std::string choices = RenderChoices(cards_, state_, shown_, SecondsLeft());
    // Short questions stand on one screen with their choices.
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n') +
                                                std::count(choices.begin(), choices.end(), '\n'));
    if (shown_.rows > 0 && lines > room) {
      const std::vector<std::string> pages = SplitPages(text, room);
      for (std::size_t i = 0; i < pages.size(); ++i) {
        if (!Put(pages[i])) return Failed("not all of the question could be shown");
        const absl::StatusOr<bool> next = TurnPage(i + 1, pages.size());
        if (!next.ok() || !*next) return next;
        if (std::exchange(resized_, false)) return ShowAll();
      }
    } else if (!Put(text)) {
      return Failed("not all of the question could be shown");
    }
    if (!ShowChoices()) return Failed("not all of the question could be shown");
    if (absl::Status status = AwaitQuiet(); !status.ok()) return status;
    return true;
  }

  bool ShowChoices() { return Put(RenderChoices(cards_, state_, Style(), SecondsLeft())); }

  absl::StatusOr<bool> TurnPage(std::size_t page, std::size_t pages) {
    const std::string line = "-- page " + std::to_string(page) + " of " + std::to_string(pages) +
                             ": Space goes on, n denies";
    if (!Say(line)) return Failed("not all of the question could be shown");
    if (absl::Status status = AwaitQuiet(); !status.ok()) return status;
    while (true) {
      const absl::StatusOr<std::string> keys = NextKeys();
      if (!keys.ok()) return keys.status();
      if (resized_) return true;
      switch (ReadPageKey(*keys)) {
        case PageChoice::kNext:
          return true;
        case PageChoice::kDeny:
          if (!Say(ChoiceText(PromptChoice::kDeny))) return Failed("the terminal is gone");
          return false;
        case PageChoice::kInterrupt:
          return MakeError(ErrorCode::kCancelled, "interrupted at the question");
        case PageChoice::kUnknown:
          if (!Say(line)) return Failed("the terminal is gone");
          continue;
      }
    }
  }

  // The reason behind a write that did not succeed.
  absl::Status Failed(std::string_view otherwise) {
    if (stop_.stop_requested()) return Ended(Wait::kStopped);
    if (std::chrono::steady_clock::now() >= expires_) return Ended(Wait::kTimeout);
    return NobodyThere(otherwise);
  }

  absl::Status Ended(Wait wait) {
    const bool timed_out = wait == Wait::kTimeout;
    // So that nobody answers a question that is no longer there.
    const std::string wipe = std::exchange(counting_, false) ? "\r\x1b[K" : "";
    (void)screen_.ShowLast(wipe + (timed_out ? "  no answer in time\n" : "  withdrawn\n"));
    return timed_out ? MakeError(ErrorCode::kApprovalTimedOut, "nobody answered in time")
                     : MakeError(ErrorCode::kCancelled, "cancelled while a person was asked");
  }

  // Throws away what is typed until nothing came for the guard interval.
  absl::Status AwaitQuiet() {
    while (true) {
      const SteadyTime quiet = std::chrono::steady_clock::now() + options_.guard;
      const Wait wait = screen_.WaitFor(POLLIN, std::min(quiet, expires_));
      if (wait == Wait::kStopped) return Ended(wait);
      if (wait == Wait::kTimeout) {
        return quiet < expires_ ? absl::OkStatus() : Ended(Wait::kTimeout);
      }
      if (!screen_.Read().has_value()) return NobodyThere("the terminal is gone");
    }
  }

  // Shows the time while it waits: in place where the terminal is one to look at, now and then as a
  // line where it is read from top to bottom.
  Wait WaitForKey() {
    while (true) {
      const SteadyTime now = std::chrono::steady_clock::now();
      const SteadyTime tick = std::min(expires_, now + std::chrono::seconds(1));
      const Wait wait = screen_.WaitFor(POLLIN, tick);
      if (wait != Wait::kTimeout || tick == expires_) return wait;
      const PromptStyle style = Style();
      if (style.columns != shown_.columns || style.rows != shown_.rows) resized_ = true;
      if (resized_) return Wait::kReady;
      ShowTimeLeft();
    }
  }

  void ShowTimeLeft() {
    const std::chrono::seconds left = SecondsLeft();
    const std::string text = TimeLeftText(left) + " left";
    if (shown_.color && shown_.rows > 0) {
      (void)screen_.Show("\r  " + text + "\x1b[K", expires_);
      counting_ = true;
      return;
    }
    for (const std::chrono::seconds reminder : kReminders) {
      if (left == reminder) (void)Say(text);
    }
  }

  // One key press; what does not come alone is returned whole.
  absl::StatusOr<std::string> NextKeys() {
    while (true) {
      Wait wait = WaitForKey();
      if (wait != Wait::kReady) return Ended(wait);
      if (resized_) return std::string();
      std::optional<std::string> keys = screen_.Read();
      if (!keys.has_value()) return NobodyThere("the terminal is gone");
      while (true) {
        const SteadyTime settled = std::chrono::steady_clock::now() + kKeySettles;
        wait = screen_.WaitFor(POLLIN, std::min(settled, expires_));
        if (wait == Wait::kStopped) return Ended(wait);
        if (wait == Wait::kTimeout) return *keys;
        const std::optional<std::string> more = screen_.Read();
        if (!more.has_value()) return NobodyThere("the terminal is gone");
        if (keys->size() < 8) *keys += *more;  // Enough to know that it is no single key.
      }
    }
  }

  absl::StatusOr<PromptKey> NextKey() {
    while (true) {
      const absl::StatusOr<std::string> keys = NextKeys();
      if (!keys.ok()) return keys.status();
      if (!std::exchange(resized_, false)) return ReadKey(*keys, cards_);
      // What was broken for another width can no longer be read.
      if (!Say("the window changed: once more")) return Failed("the terminal is gone");
      const absl::StatusOr<bool> read = ShowAll();
      if (!read.ok()) return read.status();
      if (!*read) return PromptKey{PromptChoice::kDeny};
    }
  }

  absl::StatusOr<Answers> AskForWords() {
    if (!mode_.SetLines() || !Say("say why, then Enter:")) {
      return Failed("the terminal is gone");
    }
    std::string words;
    while (words.find('\n') == std::string::npos && words.size() < kMaxWords) {
      const Wait wait = screen_.WaitFor(POLLIN, expires_);
      if (wait != Wait::kReady) return Ended(wait);
      const std::optional<std::string> more = screen_.Read();
      if (!more.has_value()) return NobodyThere("the terminal is gone");
      words += *more;
    }
    words = words.substr(0, words.find('\n'));
    (void)Say(ChoiceText(PromptChoice::kDenyWithWords));
    return Deny(ReplaceInvalidUtf8(words));
  }

  int fd_;
  const absl::Span<const ApprovalCard> cards_;
  SteadyTime expires_;
  const TerminalPromptOptions options_;
  const std::stop_token stop_;
  PromptState state_;
  PromptStyle shown_;      // How the question stands on the screen.
  bool counting_ = false;  // The cursor's line is the countdown's.
  bool resized_ = false;
  TerminalMode mode_;
  Screen screen_;
};

}  // namespace

absl::StatusOr<std::vector<ApprovalAnswer>> AskTogetherOnTerminal(
    int fd, absl::Span<const ApprovalCard> cards, const TerminalPromptOptions& options,
    const std::stop_token& stop) {
  if (cards.empty()) return std::vector<ApprovalAnswer>();
  return Dialogue(fd, cards, options, stop).Run();
}

absl::StatusOr<ApprovalAnswer> AskOnTerminal(int fd, const ApprovalCard& card,
                                             const TerminalPromptOptions& options,
                                             const std::stop_token& stop) {
  absl::StatusOr<Answers> answers = Dialogue(fd, {&card, 1}, options, stop).Run();
  if (!answers.ok()) return answers.status();
  return std::move(answers->front());
}

}  // namespace cordon::internal
