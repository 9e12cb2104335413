// What is looked for below the roots of a profile.

#ifndef CORDON_SANDBOX_SRC_INDEX_REQUEST_H_
#define CORDON_SANDBOX_SRC_INDEX_REQUEST_H_

#include <cstddef>
#include <string>
#include <vector>

namespace cordon::internal {

struct IndexPattern {
  std::string text;    // An absolute glob.
  bool hides = false;  // Nothing below a folder that matches is of interest.

  friend bool operator==(const IndexPattern&, const IndexPattern&) = default;
};

struct IndexRequest {
  static constexpr std::size_t kDefaultMaxNames = 2'000'000;

  // Folders to walk, none below another one.
  std::vector<std::string> roots;
  // The same, but given up, and named in `IndexContents::incomplete`, beyond `max_optional_names`.
  std::vector<std::string> optional_roots;
  std::vector<IndexPattern> patterns;
  std::vector<std::string> skip;    // Folders that are not entered.
  bool whole_repositories = false;  // Enter the object stores of git, too.
  std::size_t max_names = kDefaultMaxNames;
  std::size_t max_optional_names = 100'000;

  friend bool operator==(const IndexRequest&, const IndexRequest&) = default;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_INDEX_REQUEST_H_
