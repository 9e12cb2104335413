#include "name_table.h"

#include <algorithm>

namespace cordon::internal::egress {
namespace {

constexpr std::uint32_t kPrefix = 198U << 24 | 18U << 16;  // kSyntheticPrefix of the sdk.
constexpr std::uint32_t kMask = 0xfffe0000U;
constexpr std::size_t kMaxHosts = (1U << 17) - 2;

}  // namespace

std::optional<IpAddress> NameTable::AddressOf(const std::string& name) {
  auto found = index_.find(name);
  if (found == index_.end()) {
    if (names_.size() >= std::min(max_names_, kMaxHosts)) return std::nullopt;
    names_.push_back(name);
    found = index_.emplace(name, static_cast<std::uint32_t>(names_.size())).first;
  }
  return IpAddress::V4(kPrefix + found->second);
}

const std::string* NameTable::NameAt(const IpAddress& address) const {
  if (!IsSynthetic(address)) return nullptr;
  const std::uint32_t index = address.V4Value() - kPrefix;
  return index >= 1 && index <= names_.size() ? &names_[index - 1] : nullptr;
}

bool NameTable::IsSynthetic(const IpAddress& address) const {
  return !address.is_v6 && (address.V4Value() & kMask) == kPrefix;
}

}  // namespace cordon::internal::egress
