#include "cordon/sdk/request.h"

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cordon/sdk/status.h"
#include "scratch_folder.h"
#include "support/catch.h"

namespace cordon {
namespace {

using test::ScratchFolder;
using Requirements = std::vector<Requirement>;

Request ForCommand(const Command& command) {
  Request request;
  request.tool = "bash";
  request.call_id = "call-1";
  request.execution_id = "execution-1";
  request.command = command;
  request.authority = Requirements{RequireCommand(command)};
  GrantBinding binding;
  binding.executor_id = "executor-1";
  binding.execution_id = request.execution_id;
  binding.command_digest = CommandDigest(command);
  binding.working_directory = command.working_directory;
  request.binding = binding;
  return request;
}

Request ForRequirements(Requirements requirements) {
  Request request;
  request.tool = "reader";
  request.call_id = "call-1";
  request.execution_id = "execution-1";
  request.authority = std::move(requirements);
  return request;
}

Request WithoutAuthority() {
  Request request = ForRequirements({});
  request.authority = NoAuthority("only formats text");
  return request;
}

Requirement Path(CapabilityKind kind, PathShape shape, const std::string& path) {
  const absl::StatusOr<Requirement> requirement = RequirePath(kind, shape, path);
  INFO(path);
  REQUIRE(requirement.ok());
  return *requirement;
}

Requirement Network(std::string host, std::uint16_t port, bool is_address = false) {
  return RequireNetwork({std::move(host), port, is_address});
}

void CheckRefused(const Request& request, std::string_view words) {
  const absl::Status status = ValidateRequest(request);
  INFO(status);
  CHECK(Is(status, ErrorCode::kInvalidRequest));
  CHECK(std::string(status.message()).find(words) != std::string::npos);
}

// One sound requirement of each kind, form and class, and the request that it is sound in.
Requirements OneOfEach(const ScratchFolder& scratch, const Command& command) {
  const std::string other = scratch.MakeFile("other");
  Requirements all = {RequireCommand(command), Network("example.com", 443),
                      Network("192.0.2.1", 443, true), Network("*", 22)};
  for (const CapabilityKind kind :
       {CapabilityKind::kFilesystemRead, CapabilityKind::kFilesystemWrite}) {
    for (const PathShape shape : {PathShape::kExact, PathShape::kTree}) {
      all.push_back(Path(kind, shape, scratch.path()));
      all.push_back(Path(kind, shape, scratch / "missing/file"));
      all.push_back(Path(kind, shape, other));
    }
    all.push_back(Path(kind, PathShape::kExact, "/"));
    all.push_back(Path(kind, PathShape::kTree, "/"));
  }
  return all;
}

TEST_CASE("a command's request is sound") {
  CHECK(ValidateRequest(ForCommand(Command::Shell("make test", "/w"))).ok());
  CHECK(ValidateRequest(ForCommand(Command::Argv({"make", "te st"}, "/"))).ok());
  Request unbound = ForCommand(Command::Shell("make", "/w"));
  unbound.binding.reset();
  CHECK(ValidateRequest(unbound).ok());
}

TEST_CASE("every kind of requirement is sound as its function makes it") {
  const ScratchFolder scratch;
  const Command command = Command::Shell("make", "/w");
  Request request = ForCommand(command);
  request.authority = OneOfEach(scratch, command);
  const absl::Status status = ValidateRequest(request);
  INFO(status);
  CHECK(status.ok());
}

TEST_CASE("the spellings of a requirement") {
  const ScratchFolder scratch;
  const Requirement command = RequireCommand(Command::Shell("a\x1b\\", "/w"));
  CHECK(command.scope.empty());
  CHECK(command.match == "a\x1b\\");
  CHECK(command.display == "a\\x1b\\\\");
  CHECK(command.subject == GrantSubject{GrantClass::kCommandStart, "", std::nullopt});

  const Requirement network = Network("example.com", 443);
  CHECK(network.scope.empty());
  CHECK(network.match == "tcp:example.com:443");
  CHECK(network.subject.grant_class == GrantClass::kNetworkTarget);
  CHECK(Network("*", 443).subject.grant_class == GrantClass::kNetworkBroad);

  const Requirement tree = Path(CapabilityKind::kFilesystemWrite, PathShape::kTree, scratch.path());
  CHECK(tree.scope == "tree:" + scratch.path());
  CHECK(tree.match == scratch.path());
  CHECK(tree.display == tree.scope);
  CHECK(tree.subject.grant_class == GrantClass::kFilesystemTreeWrite);
  CHECK(tree.subject.identity.has_value());

  const Requirement host = Path(CapabilityKind::kFilesystemRead, PathShape::kTree, "/");
  CHECK(host.scope == "host:*");
  CHECK(host.match == "/");
  CHECK(host.subject == GrantSubject{GrantClass::kFilesystemHostRead, "/", std::nullopt});
}

TEST_CASE("a path requirement takes the identity of its object now") {
  const ScratchFolder scratch;
  const auto require = [&scratch] {
    return Path(CapabilityKind::kFilesystemWrite, PathShape::kExact, scratch / "file");
  };
  const Requirement missing = require();
  REQUIRE(missing.subject.identity.has_value());
  CHECK(missing.subject.identity->missing_suffix == "file");
  scratch.MakeFile("file");
  CHECK(require().subject.identity->missing_suffix.empty());
  CHECK(require() != missing);
}

TEST_CASE("paths that cannot be required are refused") {
  const ScratchFolder scratch;
  scratch.MakeFolder("folder");
  scratch.MakeLink("link", "folder");
  const auto code = [&](CapabilityKind kind, const std::string& path) {
    return RequirePath(kind, PathShape::kExact, path).status();
  };
  const CapabilityKind read = CapabilityKind::kFilesystemRead;
  CHECK(code(read, scratch / "folder/x").ok());
  CHECK(Is(code(read, scratch / "link/x"), ErrorCode::kPathEscape));
  CHECK(Is(code(read, "x"), ErrorCode::kInvalidScope));
  CHECK(Is(code(read, scratch.path() + "/"), ErrorCode::kInvalidScope));
  CHECK(Is(code(CapabilityKind::kNetwork, scratch.path()), ErrorCode::kInvalidScope));
  CHECK(Is(code(CapabilityKind::kCommandExecute, scratch.path()), ErrorCode::kInvalidScope));
}

TEST_CASE("any field taken from another requirement is noticed") {
  const ScratchFolder scratch;
  const Command command = Command::Shell("make", "/w");
  const Requirements sound = OneOfEach(scratch, command);
  using Transplant = std::function<void(Requirement&, const Requirement&)>;
  const std::vector<std::pair<std::string, Transplant>> transplants = {
      {"kind", [](Requirement& to, const Requirement& from) { to.kind = from.kind; }},
      {"scope", [](Requirement& to, const Requirement& from) { to.scope = from.scope; }},
      {"match", [](Requirement& to, const Requirement& from) { to.match = from.match; }},
      {"display", [](Requirement& to, const Requirement& from) { to.display = from.display; }},
      {"class", [](Requirement& to,
                   const Requirement& from) { to.subject.grant_class = from.subject.grant_class; }},
      {"target",
       [](Requirement& to, const Requirement& from) { to.subject.target = from.subject.target; }},
  };
  // Every set of fields but none and all: a requirement that is half one thing, half another.
  for (unsigned set = 1; set + 1 < 1U << transplants.size(); ++set) {
    for (const Requirement& to : sound) {
      for (const Requirement& from : sound) {
        Requirement mixed = to;
        for (std::size_t i = 0; i < transplants.size(); ++i) {
          if ((set >> i & 1U) != 0) transplants[i].second(mixed, from);
        }
        Request request = ForCommand(command);
        request.authority = Requirements{mixed};
        // The mixture may be one of the sound ones, but for an identity that fits either.
        bool is_sound = false;
        for (Requirement candidate : sound) {
          candidate.subject.identity = mixed.subject.identity;
          is_sound |= candidate == mixed;
        }
        const absl::Status status = ValidateRequest(request);
        if (is_sound) continue;
        if (!Is(status, ErrorCode::kInvalidRequest)) {
          CAPTURE(set, mixed.scope, mixed.match, mixed.display, mixed.subject.target);
          FAIL_CHECK("accepted: " << status);
        }
      }
    }
  }
}

TEST_CASE("an identity where none belongs, or none where one does, is noticed") {
  const ScratchFolder scratch;
  const Requirement path =
      Path(CapabilityKind::kFilesystemRead, PathShape::kExact, scratch / "a/b");
  Requirement bare = path;
  bare.subject.identity.reset();
  CheckRefused(ForRequirements({bare}), "identity");
  Requirement other = path;
  other.subject.identity->missing_suffix = "c";
  CheckRefused(ForRequirements({other}), "identity");
  Requirement network = Network("example.com", 443);
  network.subject.identity = path.subject.identity;
  CheckRefused(ForRequirements({network}), "grant subject");
  CHECK(ValidateRequest(ForRequirements({path})).ok());
}

TEST_CASE("re-spelled network targets are refused") {
  for (const char* spelling :
       {"example.com:443", "tcp:EXAMPLE.com:443", "tcp:example.com.:443", "tcp:example.com:0443"}) {
    CAPTURE(spelling);
    Requirement requirement = Network("example.com", 443);
    requirement.match = requirement.display = requirement.subject.target = spelling;
    CheckRefused(ForRequirements({requirement}), "requirement 1");
  }
}

TEST_CASE("network patterns that no grant can name are refused") {
  CheckRefused(ForRequirements({Network("*.example.com", 443)}), "single");
  CheckRefused(ForRequirements({Network("example.com", 0)}), "port");
  CheckRefused(ForRequirements({Network("*", 0)}), "port");
  CHECK(ValidateRequest(ForRequirements({Network("*", 443)})).ok());
}

TEST_CASE("the whole host has one spelling") {
  Requirement host = Path(CapabilityKind::kFilesystemRead, PathShape::kTree, "/");
  CHECK(ValidateRequest(ForRequirements({host})).ok());
  host.scope = host.display = "tree:/";
  CheckRefused(ForRequirements({host}), "host:*");
  host.subject.grant_class = GrantClass::kFilesystemTreeRead;
  host.subject.identity = PathIdentity{};
  CheckRefused(ForRequirements({host}), "host:*");
}

TEST_CASE("an unknown kind is refused") {
  Requirement requirement = Network("example.com", 443);
  requirement.kind = static_cast<CapabilityKind>(77);
  CheckRefused(ForRequirements({requirement}), "kind");
}

TEST_CASE("an empty list of requirements is refused, an explicit NoAuthority is not") {
  CheckRefused(ForRequirements({}), "NoAuthority");
  CHECK(ValidateRequest(WithoutAuthority()).ok());
}

TEST_CASE("NoAuthority gives a reason and comes without command and binding") {
  Request request = WithoutAuthority();
  request.authority = NoAuthority("");
  CheckRefused(request, "reason");
  request = ForCommand(Command::Shell("make", "/w"));
  request.authority = NoAuthority("it is harmless");
  CheckRefused(request, "command");
  request.command.reset();
  CheckRefused(request, "authority");
}

TEST_CASE("names and ids must be there") {
  const Request sound = WithoutAuthority();
  CHECK(ValidateRequest(sound).ok());
  for (std::string Request::*field : {&Request::tool, &Request::call_id, &Request::execution_id}) {
    Request request = sound;
    (request.*field).clear();
    CheckRefused(request, "");
  }
}

TEST_CASE("the same need twice is refused, the same path read and written is not") {
  const ScratchFolder scratch;
  const Requirement read =
      Path(CapabilityKind::kFilesystemRead, PathShape::kExact, scratch / "file");
  const Requirement write =
      Path(CapabilityKind::kFilesystemWrite, PathShape::kExact, scratch / "file");
  const Requirement tree =
      Path(CapabilityKind::kFilesystemRead, PathShape::kTree, scratch / "file");
  CHECK(ValidateRequest(ForRequirements({read, write, tree})).ok());
  CheckRefused(ForRequirements({read, write, read}), "requirement 3");
  scratch.MakeFile("file");
  const Requirement later =
      Path(CapabilityKind::kFilesystemRead, PathShape::kExact, scratch / "file");
  REQUIRE(later != read);
  CheckRefused(ForRequirements({read, later}), "twice");
}

TEST_CASE("a command and its requirement come together and agree") {
  const Command command = Command::Shell("make", "/w");
  Request request = ForCommand(command);
  request.authority = Requirements{Network("example.com", 443)};
  CheckRefused(request, "no requirement names");

  request = ForRequirements({RequireCommand(command)});
  CheckRefused(request, "no command");

  request = ForCommand(command);
  request.authority = Requirements{RequireCommand(Command::Shell("make all", "/w"))};
  CheckRefused(request, "match");

  request = ForCommand(command);
  request.authority = Requirements{RequireCommand(Command::Argv({"make"}, "/w"))};
  CheckRefused(request, "match");

  request = ForCommand(Command::Shell("make", "w"));
  CheckRefused(request, "working directory");
}

TEST_CASE("the binding is for this execution, command and directory") {
  const Request sound = ForCommand(Command::Shell("make", "/w"));
  CHECK(ValidateRequest(sound).ok());
  const std::vector<std::pair<std::string, std::function<void(GrantBinding&)>>> changes = {
      {"executor", [](GrantBinding& binding) { binding.executor_id.clear(); }},
      {"execution", [](GrantBinding& binding) { binding.execution_id = "execution-2"; }},
      {"command",
       [](GrantBinding& binding) {
         binding.command_digest = CommandDigest(Command::Argv({"make"}, "/w"));
       }},
      {"directory", [](GrantBinding& binding) { binding.working_directory = "/"; }},
  };
  for (const auto& [words, change] : changes) {
    Request request = sound;
    change(*request.binding);
    CheckRefused(request, words);
  }
}

TEST_CASE("an error names the requirement without its control characters") {
  const Command command = Command::Shell("a\x1b[2J", "/w");
  Requirement requirement = RequireCommand(command);
  requirement.display = "a";
  Request request = ForCommand(command);
  request.authority = Requirements{requirement};
  CheckRefused(request, "requirement 1 (command.execute a\\x1b[2J)");
}

TEST_CASE("everything shown or granted changes the digest") {
  const ScratchFolder scratch;
  const Command command = Command::Shell("make", "/w");
  Request sound = ForCommand(command);
  sound.model_description = "runs the tests";
  sound.details = {{"timeout", "30 s"}};
  sound.authority = Requirements{RequireCommand(command), Path(CapabilityKind::kFilesystemRead,
                                                               PathShape::kExact, scratch.path())};
  const auto list = [](Request& request) -> Requirements& {
    return std::get<Requirements>(request.authority);
  };
  const std::vector<std::function<void(Request&)>> changes = {
      [](Request&) {},
      [](Request& r) { r.tool += "x"; },
      [](Request& r) { r.call_id += "x"; },
      [](Request& r) { r.execution_id += "x"; },
      [](Request& r) { r.command.reset(); },
      [](Request& r) { r.command->shell_text += "x"; },
      [](Request& r) { r.command->working_directory = "/"; },
      [](Request& r) { *r.command = Command::Argv({"make"}, "/w"); },
      [](Request& r) { r.model_description += "x"; },
      [](Request& r) { r.details.clear(); },
      [](Request& r) { r.details[0].second = "31 s"; },
      [](Request& r) { r.details[0].first = "timeouts"; },
      [](Request& r) { r.details.emplace_back("a", "b"); },
      [](Request& r) { r.authority = NoAuthority("why"); },
      [](Request& r) { r.authority = NoAuthority("other"); },
      [&](Request& r) { list(r).pop_back(); },
      [&](Request& r) { std::swap(list(r)[0], list(r)[1]); },
      [&](Request& r) { list(r)[1].kind = CapabilityKind::kFilesystemWrite; },
      [&](Request& r) { list(r)[1].scope += "x"; },
      [&](Request& r) { list(r)[1].match += "x"; },
      [&](Request& r) { list(r)[1].display += "x"; },
      [&](Request& r) { list(r)[1].subject.target += "x"; },
      [&](Request& r) { list(r)[1].subject.grant_class = GrantClass::kFilesystemTreeRead; },
      [&](Request& r) { list(r)[1].subject.identity.reset(); },
      [&](Request& r) { ++list(r)[1].subject.identity->device; },
      [&](Request& r) { ++list(r)[1].subject.identity->inode; },
      [&](Request& r) { ++list(r)[1].subject.identity->type; },
      [&](Request& r) { ++list(r)[1].subject.identity->birth_ns; },
      [&](Request& r) { list(r)[1].subject.identity->missing_suffix = "x"; },
      [](Request& r) { r.binding.reset(); },
      [](Request& r) { r.binding->executor_id += "x"; },
      [](Request& r) { r.binding->execution_id += "x"; },
      [](Request& r) { r.binding->command_digest[31] ^= 1; },
      [](Request& r) { r.binding->working_directory += "x"; },
      [](Request& r) { r.binding->profile_fingerprint[0] ^= 1; },
      [](Request& r) { r.binding->route_fingerprint += "x"; },
      [](Request& r) { r.binding->guarantees ^= 1; },
  };
  std::set<Digest> digests;
  for (const auto& change : changes) {
    Request request = sound;
    change(request);
    CHECK(digests.insert(RequestDigest(request)).second);
  }
  CHECK(RequestDigest(sound) == RequestDigest(Request(sound)));
}

}  // namespace
}  // namespace cordon
