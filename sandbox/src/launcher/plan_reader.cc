#include "launcher/plan_reader.h"

namespace cordon::launcher {
namespace {

// Bounds of one block whose last byte is known to be NUL.
class Bounds {
 public:
  Bounds(const char* start, std::uint64_t size) : start_(start), size_(size) {}

  [[nodiscard]] bool Holds(wire::Text text) const { return text < size_; }
  [[nodiscard]] bool Holds(wire::Bytes bytes) const {
    return bytes.offset <= size_ && bytes.size <= size_ - bytes.offset;
  }
  template <typename Record>
  [[nodiscard]] bool Holds(wire::List list, std::uint32_t extra = 0) const {
    return list.offset % 8 == 0 && list.offset <= size_ &&
           std::uint64_t{list.count} + extra <= (size_ - list.offset) / sizeof(Record);
  }
  template <typename Record>
  [[nodiscard]] const Record* At(wire::List list) const {
    return reinterpret_cast<const Record*>(start_ + list.offset);
  }

  [[nodiscard]] bool HoldsView(wire::List list) const {
    if (!Holds<wire::ViewOpRecord>(list)) return false;
    for (std::uint32_t i = 0; i < list.count; ++i) {
      const auto& op = At<wire::ViewOpRecord>(list)[i];
      if (!Holds(op.target) || !Holds(op.source) || !Holds(op.data)) return false;
    }
    return true;
  }
  [[nodiscard]] bool HoldsRules(wire::List list) const {
    if (!Holds<wire::LandlockRuleRecord>(list)) return false;
    for (std::uint32_t i = 0; i < list.count; ++i) {
      if (!Holds(At<wire::LandlockRuleRecord>(list)[i].path)) return false;
    }
    return true;
  }
  [[nodiscard]] bool HoldsTexts(wire::List list) const {
    if (!Holds<wire::Text>(list)) return false;
    for (std::uint32_t i = 0; i < list.count; ++i) {
      if (!Holds(At<wire::Text>(list)[i])) return false;
    }
    return true;
  }
  [[nodiscard]] bool HoldsVector(wire::List list) const {
    if (!Holds<std::uint64_t>(list, 1)) return false;
    const auto* offsets = At<std::uint64_t>(list);
    for (std::uint32_t i = 0; i < list.count; ++i) {
      if (offsets[i] == 0 || offsets[i] >= size_) return false;
    }
    return offsets[list.count] == 0;
  }

 private:
  const char* start_;
  std::uint64_t size_;
};

template <typename Header>
bool HasFrame(const char* start, std::uint64_t size, std::uint32_t mark) {
  if (size <= sizeof(Header) || size > wire::kMaxBlockBytes) return false;
  const auto* header = reinterpret_cast<const Header*>(start);
  return header->mark == mark && header->size == size && start[size - 1] == '\0';
}

void AddAddress(char* start, wire::List list) {
  auto* offsets = reinterpret_cast<std::uint64_t*>(start + list.offset);
  for (std::uint32_t i = 0; i < list.count; ++i) {
    offsets[i] += reinterpret_cast<std::uint64_t>(start);
  }
}

}  // namespace

bool IsPlan(const char* start, std::uint64_t size) {
  if (!HasFrame<wire::PlanHeader>(start, size, wire::kPlanMark)) return false;
  const auto* header = reinterpret_cast<const wire::PlanHeader*>(start);
  const Bounds bounds(start, size);
  return bounds.Holds(header->host_name) && bounds.HoldsView(header->view) &&
         bounds.HoldsRules(header->landlock_rules) && bounds.HoldsTexts(header->absent) &&
         bounds.Holds<wire::LimitRecord>(header->limits) && bounds.Holds(header->seccomp) &&
         header->seccomp.offset % 8 == 0 && bounds.Holds(header->observer) &&
         header->observer.offset % 8 == 0;
}

bool IsCommand(const char* start, std::uint64_t size) {
  if (!HasFrame<wire::CommandHeader>(start, size, wire::kCommandMark)) return false;
  const auto* header = reinterpret_cast<const wire::CommandHeader*>(start);
  const Bounds bounds(start, size);
  return header->argv.count > 0 && bounds.HoldsVector(header->argv) &&
         bounds.HoldsVector(header->environment) && bounds.HoldsView(header->extra_view) &&
         bounds.HoldsRules(header->extra_landlock_rules) && bounds.Holds(header->working_directory);
}

void MakeVectors(char* start) {
  const auto* header = reinterpret_cast<const wire::CommandHeader*>(start);
  AddAddress(start, header->argv);
  AddAddress(start, header->environment);
}

}  // namespace cordon::launcher
