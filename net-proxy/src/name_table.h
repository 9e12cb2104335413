// The synthetic addresses of one execution's names. An address is never given to another name: a
// program may keep what it resolved for as long as it runs. Belongs to one thread.

#ifndef CORDON_NET_PROXY_SRC_NAME_TABLE_H_
#define CORDON_NET_PROXY_SRC_NAME_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "endpoint.h"

namespace cordon::internal::egress {

class NameTable {
 public:
  explicit NameTable(std::size_t max_names) : max_names_(max_names) {}

  // The address of `name`, the same each time; nothing when the table is full.
  [[nodiscard]] std::optional<IpAddress> AddressOf(const std::string& name);
  // The name that has `address`; null when none has.
  [[nodiscard]] const std::string* NameAt(const IpAddress& address) const;
  [[nodiscard]] bool IsSynthetic(const IpAddress& address) const;

 private:
  std::size_t max_names_;
  std::vector<std::string> names_;  // The first at 198.18.0.1.
  std::unordered_map<std::string, std::uint32_t> index_;
};

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_NAME_TABLE_H_
