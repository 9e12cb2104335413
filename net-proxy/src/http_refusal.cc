#include "http_refusal.h"

#include "absl/strings/str_format.h"

namespace cordon::internal::egress {
namespace {

std::string_view Phrase(int status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 407:
      return "Proxy Authentication Required";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Refused";
  }
}

}  // namespace

std::string HttpRefusalAnswer(int status, std::string_view text, std::string_view fields) {
  return absl::StrFormat(
      "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n"
      "Cache-Control: no-store\r\nConnection: close\r\n%s\r\n%s",
      status, Phrase(status), text.size(), fields, text);
}

}  // namespace cordon::internal::egress
