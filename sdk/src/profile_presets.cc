// The lists that a profile starts from: what every program needs, what nobody should read, what
// should not change, and the presets.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/path_policy.h"
#include "cordon/sdk/profile.h"
#include "cordon/sdk/status.h"
#include "glob.h"

namespace cordon {
namespace {

constexpr std::string_view kHostSecrets[] = {
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/master.passwd",
    "/etc/security/opasswd",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssh/ssh_host_dsa_key",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/letsencrypt",
    "/etc/krb5.keytab",
    "/etc/wireguard",
    "/etc/openvpn",
    "/etc/ppp/chap-secrets",
    "/etc/ppp/pap-secrets",
    "/etc/NetworkManager/system-connections",
    "/etc/kubernetes",
    "/etc/rancher",
    "/run/secrets",
    "/var/lib/sss/secrets",
    // Of the administrator, whoever's home is the real one.
    "/root/.ssh",
    "/root/.gnupg",
    "/root/.aws",
    "/root/.kube",
    "/root/.docker",
    "/root/.config/gcloud",
    "/root/.netrc",
    "/root/.git-credentials",
    "/root/.bash_history",
};

constexpr std::string_view kHomeSecrets[] = {
    // Keys and logins.
    ".ssh", ".gnupg", ".netrc", "_netrc", ".git-credentials", ".config/git/credentials",
    ".password-store", ".local/share/keyrings", ".local/share/kwalletd", ".pki", ".kerberos",
    ".config/op", ".config/Bitwarden CLI", ".config/sops", ".config/age", ".vault-token",
    // Clouds and clusters.
    ".aws", ".azure", ".config/gcloud", ".config/doctl", ".config/hcloud", ".kube", ".docker",
    ".config/containers/auth.json", ".config/helm", ".terraform.d", ".terraformrc",
    ".config/rclone", ".s3cfg", ".boto", ".oci", ".databrickscfg", ".fly", ".config/heroku",
    ".config/netlify",
    // Forges and package registries.
    ".config/gh", ".config/glab-cli", ".config/hub", ".npmrc", ".yarnrc.yml", ".pypirc",
    ".config/pip", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials",
    ".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties",
    ".composer/auth.json", ".config/composer/auth.json", ".nuget/NuGet",
    // Databases.
    ".pgpass", ".my.cnf", ".mylogin.cnf", ".dbshell",
    // Assistants.
    ".claude.json", ".claude/.credentials.json", ".codex/auth.json", ".gemini",
    ".config/github-copilot", ".local/share/opencode/auth.json",
    // Browsers and mail.
    ".mozilla", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware",
    ".config/microsoft-edge", ".thunderbird", ".local/share/evolution",
    // What was typed, passwords included.
    ".bash_history", ".zsh_history", ".local/share/fish/fish_history", ".python_history",
    ".node_repl_history", ".psql_history", ".mysql_history", ".rediscli_history", ".lesshst",
    // Wallets.
    ".bitcoin", ".ethereum", ".electrum", ".config/solana"};

// What git runs, or takes configuration from, in a git directory. `info/exclude` is not among them.
constexpr std::string_view kGitDirectoryFiles[] = {"hooks", "config", "config.worktree",
                                                   "commondir", "info/attributes"};
constexpr std::string_view kLinkedWorktreeFiles[] = {"config.worktree", "commondir"};

constexpr std::string_view kRootFiles[] = {
    ".gitmodules",
    // Shells and direnv.
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv",
    ".zprofile", ".zlogin", ".inputrc", ".envrc",
    // Editors and agents.
    ".vscode", ".idea", ".claude", ".codex", ".cursor", ".mcp.json"};

void AddGitDirectory(const std::string& directory, std::vector<std::string>& patterns) {
  for (const std::string_view file : kGitDirectoryFiles) {
    patterns.push_back(directory + "/" + std::string(file));
    // Names of submodules have slashes, and submodules have submodules.
    patterns.push_back(directory + "/modules/**/" + std::string(file));
  }
  for (const std::string_view file : kLinkedWorktreeFiles) {
    patterns.push_back(directory + "/worktrees/*/" + std::string(file));
  }
}

// The git directories that `root` is or lies in, e.g. the common directory of a linked worktree.
std::vector<std::string_view> EnclosingGitDirectories(std::string_view root) {
  std::vector<std::string_view> found;
  for (std::size_t at = root.find("/.git"); at != std::string_view::npos;
       at = root.find("/.git", at + 1)) {
    const std::size_t end = at + std::string_view("/.git").size();
    if (end == root.size() || root[end] == '/') found.push_back(root.substr(0, end));
  }
  return found;
}

}  // namespace

const std::vector<std::string>& SystemPaths() {
  static const std::vector<std::string> paths = {
      "/bin", "/sbin", "/usr", "/opt", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store",
      "/gnu/store", "/run/current-system", "/var/lib/dpkg", "/var/lib/ca-certificates",
      "/var/cache/fontconfig",
      // The dynamic linker, alternatives, languages.
      "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload",
      "/etc/alternatives", "/etc/perl", "/etc/python2.7", "/etc/python3", "/etc/python3.9",
      "/etc/python3.10", "/etc/python3.11", "/etc/python3.12", "/etc/python3.13", "/etc/python3.14",
      "/etc/java", "/etc/java-8-openjdk", "/etc/java-11-openjdk", "/etc/java-17-openjdk",
      "/etc/java-21-openjdk", "/etc/java-25-openjdk", "/etc/maven", "/etc/npmrc", "/etc/pip.conf",
      "/etc/php", "/etc/lua", "/etc/emacs", "/etc/vim", "/etc/nanorc", "/etc/magic",
      "/etc/magic.mime", "/etc/mime.types", "/etc/mailcap", "/etc/terminfo", "/etc/fonts",
      "/etc/X11", "/etc/OpenCL", "/etc/vulkan", "/etc/glvnd", "/etc/ImageMagick-6",
      "/etc/ImageMagick-7", "/etc/texmf", "/etc/papersize", "/etc/gitconfig", "/etc/gitattributes",
      "/etc/manpath.config", "/etc/dpkg", "/etc/apt/sources.list", "/etc/apt/sources.list.d",
      "/etc/apt/apt.conf.d", "/etc/apt/preferences.d", "/etc/apt/trusted.gpg.d",
      "/etc/apt/keyrings",
      // Trust in certificates; never /etc/ssl/private.
      "/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/openssl.cnf", "/etc/ca-certificates",
      "/etc/ca-certificates.conf", "/etc/pki/ca-trust", "/etc/pki/tls/certs",
      "/etc/pki/tls/cert.pem", "/etc/pki/tls/openssl.cnf", "/etc/crypto-policies", "/etc/gnutls",
      "/etc/krb5.conf", "/etc/krb5.conf.d",
      // Names of users, hosts and services.
      "/etc/passwd", "/etc/group", "/etc/subuid", "/etc/subgid", "/etc/nsswitch.conf", "/etc/hosts",
      "/etc/hostname", "/etc/host.conf", "/etc/gai.conf", "/etc/resolv.conf", "/etc/networks",
      "/etc/protocols", "/etc/services", "/etc/rpc", "/etc/ethertypes", "/etc/ssh/ssh_config",
      "/etc/ssh/ssh_config.d", "/etc/ssh/ssh_known_hosts",
      // Locale, time, release.
      "/etc/localtime", "/etc/timezone", "/etc/locale.conf", "/etc/locale.alias", "/etc/locale.gen",
      "/etc/default/locale", "/etc/os-release", "/etc/lsb-release", "/etc/debian_version",
      "/etc/redhat-release", "/etc/alpine-release", "/etc/issue",
      // Shells.
      "/etc/profile", "/etc/profile.d", "/etc/bash.bashrc", "/etc/bashrc", "/etc/bash_completion",
      "/etc/bash_completion.d", "/etc/zsh", "/etc/fish", "/etc/inputrc", "/etc/shells",
      "/etc/login.defs"};
  return paths;
}

std::vector<std::string> SecretPaths(std::string_view home_root) {
  std::vector<std::string> paths(std::begin(kHostSecrets), std::end(kHostSecrets));
  if (home_root.empty()) return paths;
  for (const std::string_view name : kHomeSecrets) {
    paths.push_back(NormalizePath(std::string(home_root) + "/" + std::string(name)));
  }
  return paths;
}

std::vector<std::string> ProtectedPatterns(std::string_view root) {
  const std::string base = root == "/" ? "" : internal::EscapeGlob(root);
  std::vector<std::string> patterns;
  AddGitDirectory(base + "/**/.git", patterns);
  for (const std::string_view directory : EnclosingGitDirectories(root)) {
    AddGitDirectory(internal::EscapeGlob(directory), patterns);
  }
  for (const std::string_view file : kRootFiles) {
    patterns.push_back(base + "/" + std::string(file));
  }
  return patterns;
}

const std::vector<std::string>& BaselineEnvironment() {
  static const std::vector<std::string> names = {
      "COLORTERM",      "LANG",        "LANGUAGE",     "LC_ADDRESS",
      "LC_ALL",         "LC_COLLATE",  "LC_CTYPE",     "LC_IDENTIFICATION",
      "LC_MEASUREMENT", "LC_MESSAGES", "LC_MONETARY",  "LC_NAME",
      "LC_NUMERIC",     "LC_PAPER",    "LC_TELEPHONE", "LC_TIME",
      "LOGNAME",        "TERM",        "TZ",           "USER"};
  return names;
}

absl::StatusOr<ProfileConfig> PresetConfig(std::string_view name, std::string_view workspace_root) {
  ProfileConfig config;
  config.workspace_root = std::string(workspace_root);
  config.workspace_read = Access::kAllow;
  config.command = Access::kAllow;
  if (name == "read-only") return config;
  config.workspace_write = Access::kAllow;
  config.network = Access::kGated;
  if (name == "workspace") return config;
  if (name == "trusted") {
    config.host_read = Access::kAllow;
    config.deny_read = SecretPaths("");
    return config;
  }
  return MakeError(
      ErrorCode::kInvalidProfile,
      absl::StrFormat("unknown preset \"%s\": there are read-only, workspace and trusted",
                      EscapeForDisplay(name)));
}

}  // namespace cordon
