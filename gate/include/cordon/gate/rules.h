// Stored answers: what is allowed or denied without asking again. A deny wins over every allow and
// holds even where the profile allows. A rule never replaces a grant; it only means that nobody is
// asked.
//
// Commands are understood conservatively: shell text is split into simple commands by a lexer that
// gives up on everything whose words it cannot prove. What it gives up on is matched as a whole
// only, and whatever might hide a denied command is asked about.

#ifndef CORDON_GATE_RULES_H_
#define CORDON_GATE_RULES_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "cordon/sdk/capability.h"
#include "cordon/sdk/profile.h"
#include "cordon/sdk/request.h"

namespace cordon {

enum class RuleEffect : std::uint8_t { kDeny = 0, kAllow = 1 };

enum class RuleMatch : std::uint8_t {
  kExactCommand,   // "exact": the whole command, as in `CommandMatch`.
  kCommandFamily,  // "family": one or two leading words, e.g. `git status`, with the options that
                   // the catalogue permits. A deny covers every use of them.
  kNetworkTarget,  // "network": `host:port`, see cordon/sdk/network_target.h.
  kPath,           // "path": one object.
  kTree,           // "tree": a folder and everything below it.
};

[[nodiscard]] std::string_view RuleEffectName(RuleEffect effect);  // "deny", "allow"
[[nodiscard]] std::string_view RuleMatchName(RuleMatch match);     // "exact", "family", ...
[[nodiscard]] std::optional<RuleEffect> ParseRuleEffect(std::string_view name);
[[nodiscard]] std::optional<RuleMatch> ParseRuleMatch(std::string_view name);

// A file that a program of an allowed command has to be.
struct RuleProgram {
  std::string path;    // Absolute, symbolic links resolved.
  std::string sha256;  // Of its content, 64 lower-case digits; empty: not compared.

  friend bool operator==(const RuleProgram&, const RuleProgram&) = default;
};

struct Rule {
  std::string id;  // Names it for `Remove` and in refusals. Empty: a random one is given by `Add`.
  RuleEffect effect = RuleEffect::kDeny;
  RuleMatch match = RuleMatch::kExactCommand;
  std::string text;  // In its canonical spelling, see `MakeRule`.
  // Paths and trees: kFilesystemRead or kFilesystemWrite; absent means both. Denying to read denies
  // to write as well.
  std::optional<CapabilityKind> access;
  // Where the command starts for the rule to hold: exactly there for exact commands, there or below
  // for everything else. Empty: anywhere. A deny holds for requests without a command as well.
  std::string directory;
  std::optional<std::chrono::system_clock::time_point> until;  // Holds before this moment.
  std::optional<std::uint32_t> uses;  // How often it may still decide; 0: used up.
  // Allows for commands only: every program that the words of the covered commands name must be one
  // of these files, however many folders of the search path have one of that name. Checked when it
  // is decided. Empty: any file. Not for denials, which a copy of the file would evade.
  std::vector<RuleProgram> programs;
  std::string who;  // Who added it, when and why; for people.
  std::chrono::system_clock::time_point when;
  std::string why;

  friend bool operator==(const Rule&, const Rule&) = default;
};

// Checks and canonicalises. `text` of a path or tree may start with `read:` or `write:`. Returns
// kInvalidCommand, kInvalidTarget or kInvalidScope for a text that does not fit `match`.
[[nodiscard]] absl::StatusOr<Rule> MakeRule(RuleEffect effect, RuleMatch match,
                                            std::string_view text);

// One line for people, escaped: `allow exact "make test" in /w`.
[[nodiscard]] std::string RuleText(const Rule& rule);

// The file that the rule's `programs` would name: `path` with links resolved and, `with_content`,
// its hash. Returns kInvalidOption when it is no program.
[[nodiscard]] absl::StatusOr<RuleProgram> MakeRuleProgram(const std::string& path,
                                                          bool with_content);

// What a family rule covers when it allows, for people: the permitted options, or that the
// catalogue does not know it, so that only the bare words are covered.
[[nodiscard]] std::string DescribeFamily(std::string_view family);

// What the stored rules say about one requirement.
struct RuleDecision {
  enum class Verdict : std::uint8_t {
    kNone,   // No rule decides; the profile does.
    kAllow,  // Nobody needs to be asked.
    kAsk,    // It might hide something denied: a person must see it even where the profile allows.
    kDeny,
  };
  Verdict verdict = Verdict::kNone;
  std::string rule;    // `RuleText` of the deciding rule; empty for kNone.
  std::string reason;  // For kAsk: what cannot be seen through.
  // The ids of all rules that it took; several families may allow a compound command together.
  std::vector<std::string> ids;
};

// How often a stored rule has decided. For people: a crash may lose the last one.
struct RuleUsage {
  std::uint64_t count = 0;
  std::chrono::system_clock::time_point last;
};

// Every folder in which a command under `profile` may look for programs: what the profile sets as
// PATH, the caller's PATH, and the usual ones.
[[nodiscard]] std::string ProgramSearchPath(const Profile& profile);

// Rules in memory and, when it was opened on a file, those of the file, which is read again
// whenever it changed. Safe from any thread.
class RuleSet {
 public:
  struct Options {
    // Absent: the system's clock. For `Rule::until` and `Rule::when`.
    std::function<std::chrono::system_clock::time_point()> clock;
    // For `Rule::programs`. Empty: the caller's PATH and the usual folders.
    std::string program_path;
  };

  // Without a file: nothing outlives the set.
  [[nodiscard]] static std::shared_ptr<RuleSet> InMemory(Options options = {});
  // With a rule file (see `LoadRuleFile` for its errors). A missing file is kNotFound, since a
  // mistyped name must not lift denials, unless `create` is set: then it is created when the first
  // rule is stored, and it is for the caller to say that there were none.
  [[nodiscard]] static absl::StatusOr<std::shared_ptr<RuleSet>> Open(std::string path, bool create,
                                                                     Options options = {});
  virtual ~RuleSet() = default;

  // Whether rules can be stored for good.
  [[nodiscard]] virtual bool has_file() const = 0;

  // Decides about one requirement of `request`, without counting it as a use. Returns the errors of
  // `LoadRuleFile` when the file changed and cannot be read: then nothing is allowed.
  [[nodiscard]] virtual absl::StatusOr<RuleDecision> Decide(const Requirement& requirement,
                                                            const Request& request) = 0;
  // Counts one use of each rule of `ids`, or of none when one of them is used up or gone: then
  // false. Uses of a stored rule are counted in the file, so that programs that share it share
  // them.
  [[nodiscard]] virtual bool TakeUses(const std::vector<std::string>& ids) = 0;

  // The files behind the programs of `command`, for `Rule::programs`; none when they cannot be
  // told.
  [[nodiscard]] virtual std::vector<RuleProgram> ProgramsOf(const Command& command) const = 0;

  // Adds all rules or none; to the file when `persist`. Returns kInvalidOption when `persist`
  // without a file, and the errors of `AddToRuleFile`.
  [[nodiscard]] virtual absl::Status Add(std::vector<Rule> rules, bool persist) = 0;
  [[nodiscard]] virtual absl::Status Remove(std::string_view id) = 0;  // kNotFound.
  [[nodiscard]] virtual absl::StatusOr<std::vector<Rule>> List() = 0;  // The file's first.
};

// A rule file is JSON of version 1, strict: an unknown or repeated key, a wrong type or a bad rule
// refuses the whole file. It must be a regular file of at most 1 MiB with one link, owned by the
// caller or root, writable by nobody else, and is opened without following a symbolic link. Returns
// kNotFound, or kInvalidRules with the reason.
[[nodiscard]] absl::StatusOr<std::vector<Rule>> LoadRuleFile(const std::string& path);

// Read, changed and replaced atomically, with mode 0600, under a lock in `PATH.lock` so that
// several programs can share it. A missing file counts as empty; one that `LoadRuleFile` refuses is
// never overwritten. `AddToRuleFile` gives ids and skips rules that are there already, but for the
// number of uses, which the new one sets. Errors: those of `LoadRuleFile`, kInvalidOption for a
// rule that contradicts itself.
[[nodiscard]] absl::Status AddToRuleFile(const std::string& path, std::vector<Rule> rules);
// Returns kNotFound when there is no such rule.
[[nodiscard]] absl::Status RemoveFromRuleFile(const std::string& path, std::string_view id);

// By id, from `PATH.used`; empty when there is none or it is damaged.
[[nodiscard]] std::map<std::string, RuleUsage> LoadRuleUsage(const std::string& path);

}  // namespace cordon

#endif  // CORDON_GATE_RULES_H_
