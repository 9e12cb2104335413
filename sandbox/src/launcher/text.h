// C strings without libc.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_TEXT_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_TEXT_H_

#include <cstddef>
#include <cstdint>

namespace cordon::launcher {

inline std::size_t Length(const char* text) {
  std::size_t length = 0;
  while (text[length] != '\0') ++length;
  return length;
}

inline bool Equal(const char* a, const char* b) {
  for (; *a == *b; ++a, ++b) {
    if (*a == '\0') return true;
  }
  return false;
}

inline bool StartsWith(const char* text, const char* prefix) {
  for (; *prefix != '\0'; ++text, ++prefix) {
    if (*text != *prefix) return false;
  }
  return true;
}

// Text put together in a fixed buffer. What does not fit is left out, and `complete` says so.
template <std::size_t kCapacity>
class TextBuffer {
 public:
  TextBuffer& Add(const char* text) {
    while (*text != '\0') AddByte(*text++);
    return *this;
  }
  TextBuffer& Add(const char* text, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) AddByte(text[i]);
    return *this;
  }
  TextBuffer& AddNumber(std::uint64_t value, unsigned base = 10) {
    char digits[64];
    int count = 0;
    do {
      digits[count++] = static_cast<char>('0' + value % base);
      value /= base;
    } while (value != 0);
    while (count > 0) AddByte(digits[--count]);
    return *this;
  }

  [[nodiscard]] const char* get() const { return bytes_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool complete() const { return complete_; }

 private:
  void AddByte(char byte) {
    if (size_ + 1 >= kCapacity) {
      complete_ = false;
      return;
    }
    bytes_[size_++] = byte;
    bytes_[size_] = '\0';
  }

  char bytes_[kCapacity] = {};
  std::size_t size_ = 0;
  bool complete_ = true;
};

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_TEXT_H_
