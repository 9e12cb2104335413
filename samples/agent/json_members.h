// Members of JSON that somebody else wrote, which may be missing or of another type.

#ifndef CORDON_SAMPLES_AGENT_JSON_MEMBERS_H_
#define CORDON_SAMPLES_AGENT_JSON_MEMBERS_H_

#include <string>

#include "nlohmann/json.hpp"

namespace cordon::agent {

// Null where there is none.
[[nodiscard]] inline const nlohmann::json& MemberAt(const nlohmann::json& object,
                                                    const char* name) {
  static const nlohmann::json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(name);
  return found == object.end() ? kNull : *found;
}

// Empty where there is no text.
[[nodiscard]] inline std::string TextAt(const nlohmann::json& object, const char* name) {
  const nlohmann::json& member = MemberAt(object, name);
  return member.is_string() ? member.get<std::string>() : std::string();
}

}  // namespace cordon::agent

#endif  // CORDON_SAMPLES_AGENT_JSON_MEMBERS_H_
