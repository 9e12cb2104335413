#include "integration/support/cordon_run.h"

#include <algorithm>
#include <sstream>

#include "support/catch.h"

namespace cordon::test {
namespace {

using nlohmann::json;

std::string Joined(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string Shortened(const std::string& text) {
  constexpr std::size_t kMost = 4000;
  return text.size() <= kMost ? text : text.substr(0, kMost) + "\n[...]";
}

// Marks that the text of the act itself does not contain, since the shell joins them.
constexpr std::string_view kBegin = "echo test-'began'\n(\n";
constexpr std::string_view kEnd = "\n) && echo test-'did-it' || echo test-'refused' $?";

std::string At(int line) { return "line " + std::to_string(line); }

}  // namespace

Words NestedOptions() {
  return kAddressSanitizer ? Words{"--env", "ASAN_OPTIONS=detect_leaks=0"} : Words{};
}

std::string CordonProgram() { return CORDON_PROGRAM; }

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string ReportPath(const Ground& ground) { return ground.root() + "/report.json"; }

json ReadReport(const Ground& ground) {
  return json::parse(ground.Read(ReportPath(ground)), nullptr, false);
}

Words InsideCommand(const Ground& ground, const Words& arguments) {
  Words words = {CordonProgram(), "run", "-w", ground.workspace(), "--report", ReportPath(ground)};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

ChildOptions InsideOptions(const Ground& ground, const RunOptions& options) {
  ChildOptions child;
  child.directory = options.directory.empty() ? ground.workspace() : options.directory;
  child.environment = ground.environment();
  child.descriptors = options.descriptors;
  child.ignored = options.ignored;
  child.blocked = options.blocked;
  return child;
}

namespace {

CordonRun RunWords(const Ground& ground, const Words& words, const RunOptions& options) {
  Child child(words, InsideOptions(ground, options));
  Ended ended = child.Finish(options.input, options.limit);
  CordonRun run;
  run.what = Joined(words);
  run.status = ended.status;
  run.out = std::move(ended.out);
  run.err = std::move(ended.err);
  run.elapsed = ended.elapsed;
  INFO(run.what << "\nout: " << Shortened(run.out) << "\nerr: " << Shortened(run.err));
  REQUIRE(ended.in_time);
  return run;
}

}  // namespace

CordonRun RunCordon(const Ground& ground, const Words& arguments, const RunOptions& options) {
  Words words = {CordonProgram()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return RunWords(ground, words, options);
}

CordonRun RunInside(const Ground& ground, const Words& arguments, const RunOptions& options) {
  ground.Remove(ReportPath(ground));
  CordonRun run = RunWords(ground, InsideCommand(ground, arguments), options);
  if (ground.Exists(ReportPath(ground))) run.report = ReadReport(ground);
  return run;
}

CordonRun RunText(const Ground& ground, const Words& policy, std::string_view text,
                  const RunOptions& options) {
  Words arguments = policy;
  arguments.insert(arguments.end(), {"-c", std::string(text)});
  return RunInside(ground, arguments, options);
}

json ReportAt(const CordonRun& run, const std::string& pointer) {
  const json::json_pointer at(pointer);
  return run.report.contains(at) ? run.report.at(at) : json();
}

Expect::Expect(const CordonRun& run, std::string what, int line) : run_(run) {
  std::ostringstream about;
  about << At(line) << (what.empty() ? "" : ", ") << what << "\n"
        << run.what << "\nstatus " << run.status << " after " << run.elapsed.count()
        << " ms\nout: " << Shortened(run.out) << "\nerr: " << Shortened(run.err);
  about_ = about.str();
}

const Expect& Expect::Status(int status) const {
  INFO(about_);
  CHECK(run_.status == status);
  return *this;
}

const Expect& Expect::Out(std::string_view part) const {
  INFO(about_ << "\nwanted: " << part);
  CHECK(Has(run_.out, part));
  return *this;
}

const Expect& Expect::OutIs(std::string_view text) const {
  INFO(about_ << "\nwanted: " << text);
  CHECK(run_.out == text);
  return *this;
}

const Expect& Expect::NoOut(std::string_view part) const {
  INFO(about_ << "\nunwanted: " << part);
  CHECK_FALSE(Has(run_.out, part));
  return *this;
}

const Expect& Expect::Err(std::string_view part) const {
  INFO(about_ << "\nwanted: " << part);
  CHECK(Has(run_.err, part));
  return *this;
}

const Expect& Expect::NoErr(std::string_view part) const {
  INFO(about_ << "\nunwanted: " << part);
  CHECK_FALSE(Has(run_.err, part));
  return *this;
}

const Expect& Expect::Below(std::chrono::milliseconds limit) const {
  INFO(about_);
  CHECK(run_.elapsed.count() < limit.count());
  return *this;
}

const Expect& Expect::NotStarted() const {
  INFO(about_);
  CHECK(run_.status == 125);
  CHECK(run_.out.empty());
  CHECK(std::count(run_.err.begin(), run_.err.end(), '\n') == 1);
  CHECK(run_.err.size() > 1);
  return *this;
}

std::string Control(const Ground& ground, std::string_view act, int line) {
  const Ended ended = ground.RunUnconfined(act);
  INFO(At(line) << "\nwithout the sandbox: " << act << "\nstatus " << ended.status << "\n"
                << ended.out << ended.err);
  REQUIRE(ended.status == 0);
  return ended.out;
}

CordonRun Attempt(const Ground& ground, const Words& policy, std::string_view act, int line) {
  const CordonRun run =
      RunText(ground, policy, std::string(kBegin) + std::string(act) + std::string(kEnd));
  Expect(run, "it is started", line).Out("test-began");
  // A program that is missing inside shows nothing about the act.
  Expect(run, "its programs are there", line).NoOut("test-refused 126").NoOut("test-refused 127");
  return run;
}

CordonRun ExpectRefused(const Ground& ground, const Words& policy, std::string_view act,
                        std::string_view undo, int line) {
  Control(ground, act, line);
  if (!undo.empty()) ground.RunUnconfined(undo);
  const CordonRun run = Attempt(ground, policy, act, line);
  Expect(run, "it is refused", line).Out("test-refused").NoOut("test-did-it");
  if (!undo.empty()) ground.RunUnconfined(undo);
  return run;
}

CordonRun ExpectAllowed(const Ground& ground, const Words& policy, std::string_view act, int line) {
  const CordonRun run = Attempt(ground, policy, act, line);
  Expect(run, "it works inside", line).Out("test-did-it").NoOut("test-refused");
  return run;
}

}  // namespace cordon::test
