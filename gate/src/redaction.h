// Takes what looks like a credential out of text that is to be logged. Pure.

#ifndef CORDON_GATE_SRC_REDACTION_H_
#define CORDON_GATE_SRC_REDACTION_H_

#include <string>
#include <string_view>

namespace cordon::internal {

// `text` with "***" in place of: the value of an assignment, option or header whose name speaks of
// a password, token, key, secret or credential; a user and password in a URL; and tokens that can
// be known by their form (of GitHub, GitLab, AWS, Slack, Google, OpenAI and the like, JSON web
// tokens, private keys). A secret that looks like any other word is not found.
[[nodiscard]] std::string Redacted(std::string_view text);

}  // namespace cordon::internal

#endif  // CORDON_GATE_SRC_REDACTION_H_
