// Plans and commands as the library encodes them (plan_format.h), checked once and then read in
// place.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_PLAN_READER_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_PLAN_READER_H_

#include <cstdint>

#include "plan_format.h"

namespace cordon::launcher {

namespace wire = internal::wire;

// A checked block: every offset in it leads to what it says.
class Block {
 public:
  Block() = default;
  explicit Block(const char* start) : start_(start) {}

  [[nodiscard]] const char* Text(wire::Text text) const { return text == 0 ? "" : start_ + text; }
  [[nodiscard]] const char* Data(wire::Bytes bytes) const { return start_ + bytes.offset; }
  template <typename Record>
  [[nodiscard]] const Record* Records(wire::List list) const {
    return reinterpret_cast<const Record*>(start_ + list.offset);
  }

 private:
  const char* start_ = nullptr;
};

struct Plan : Block {
  Plan() = default;
  explicit Plan(const char* start)
      : Block(start), header(reinterpret_cast<const wire::PlanHeader*>(start)) {}
  const wire::PlanHeader* header = nullptr;
};

struct Command : Block {
  Command() = default;
  explicit Command(const char* start)
      : Block(start), header(reinterpret_cast<const wire::CommandHeader*>(start)) {}
  const wire::CommandHeader* header = nullptr;
};

// Whether `size` bytes at `start` (aligned to 8) are a well-formed plan or command.
[[nodiscard]] bool IsPlan(const char* start, std::uint64_t size);
[[nodiscard]] bool IsCommand(const char* start, std::uint64_t size);

// Turns the offsets of a checked command's `argv` and `environment` into addresses, in place. Once.
void MakeVectors(char* start);
[[nodiscard]] inline char** Vector(const Command& command, wire::List list) {
  return const_cast<char**>(command.Records<char*>(list));
}

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_PLAN_READER_H_
