#include "sse.h"

#include <string>
#include <vector>

#include "support/catch.h"

namespace cordon::agent {
namespace {

// The events of `text`, fed in pieces of `size` bytes.
std::vector<std::string> Events(std::string_view text, std::size_t size) {
  std::vector<std::string> events;
  SseReader reader([&events](std::string_view data) {
    events.emplace_back(data);
    return true;
  });
  for (std::size_t i = 0; i < text.size(); i += size) CHECK(reader.Add(text.substr(i, size)));
  return events;
}

TEST_CASE("Events are the same however the bytes are cut") {
  constexpr std::string_view kText =
      ": comment\n\nevent: x\ndata: one\n\ndata: two\ndata:three\r\n\r\nid: 7\n\n\ndata:\n\n"
      "data: {\"a\": \"\xc3\xa9\"}\r\rdata: not ended";
  const std::vector<std::string> expected = {"one", "two\nthree", "", "{\"a\": \"\xc3\xa9\"}"};
  for (const std::size_t size : {1, 2, 3, 7, 1000}) CHECK(Events(kText, size) == expected);
}

TEST_CASE("Reading stops when the receiver has enough, or an event has no end") {
  int count = 0;
  SseReader reader([&count](std::string_view) { return ++count < 2; });
  CHECK_FALSE(reader.Add("data: 1\n\ndata: 2\n\ndata: 3\n\n"));
  CHECK(count == 2);
  SseReader endless([](std::string_view) { return true; });
  CHECK_FALSE(endless.Add("data: " + std::string(SseReader::kMaxEventBytes, 'x')));
}

}  // namespace
}  // namespace cordon::agent
