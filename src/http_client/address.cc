#include "http_client/address.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace fray::http_client {

namespace {

constexpr unsigned kMostPort = 65535;

bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
         c == '_' || c == ':' || c == '%';
}

bool is_path_character(char c) { return c > ' ' && c < 0x7F && c != '?' && c != '#' && c != '"' && c != '\\'; }

bool is_port(std::string_view text) {
  unsigned port = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port >= 1 && port <= kMostPort;
}

// Removes the scheme; an address without one is http.
Result<bool> take_scheme(const Service& service, std::string_view whole, std::string_view* rest) {
  const std::size_t colon = rest->find("://");
  if (colon == std::string_view::npos) return false;
  const std::string_view scheme = rest->substr(0, colon);
  rest->remove_prefix(colon + 3);
  if (scheme == "http") return false;
  if (scheme == "https") return true;
  return no_address(service, whole, fmt::format("the scheme {}:// is not known", scheme));
}

}  // namespace

std::string Address::authority() const {
  return host.find(':') == std::string::npos ? host + ":" + port : fmt::format("[{}]:{}", host, port);
}

std::string Address::text() const { return fmt::format("http{}://{}{}", tls ? "s" : "", authority(), prefix); }

Status no_address(const Service& service, std::string_view text, std::string_view why) {
  return Status(StatusCode::kInvalidArgument,
                fmt::format("\"{}\" is no address of {}: {}; write http://HOST:PORT, as in {}", text, service.what, why,
                            service.example));
}

Result<Address> parse_address(std::string_view text, const Service& service) {
  auto wrong = [&](std::string_view given, std::string_view why) { return no_address(service, given, why); };
  std::string_view rest = text;
  Address address;
  FRAY_ASSIGN_OR_RETURN(address.tls, take_scheme(service, text, &rest));
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view authority = rest.substr(0, slash);
  std::string_view prefix = rest.substr(slash);
  if (authority.find('@') != std::string_view::npos) {
    return wrong("...@" + std::string(authority.substr(authority.rfind('@') + 1)),
                 fmt::format("names and passwords do not belong into it; a token goes into {}", service.token_place));
  }
  address.port = address.tls ? "443" : "80";
  std::size_t colon = authority.rfind(':');
  if (!authority.empty() && authority.front() == '[') {
    const std::size_t bracket = authority.find(']');
    if (bracket == std::string_view::npos) return wrong(text, "the bracket of its IPv6 address is not closed");
    address.host = authority.substr(1, bracket - 1);
    colon = bracket + 1 < authority.size() ? bracket + 1 : std::string_view::npos;
    if (colon != std::string_view::npos && authority[colon] != ':')
      return wrong(text, "a colon must follow the bracket");
  } else {
    address.host = authority.substr(0, colon);
    if (address.host.find(':') != std::string::npos) return wrong(text, "an IPv6 address needs brackets");
  }
  if (colon != std::string_view::npos) address.port = authority.substr(colon + 1);
  if (address.host.empty()) return wrong(text, "it names no host");
  if (!std::all_of(address.host.begin(), address.host.end(), is_host_character)) {
    return wrong(text, "its host has characters that no host has");
  }
  if (!is_port(address.port)) return wrong(text, "its port is not a number from 1 to 65535");
  while (!prefix.empty() && prefix.back() == '/') prefix.remove_suffix(1);
  if (!std::all_of(prefix.begin(), prefix.end(), is_path_character)) {
    return wrong(text, "its path has spaces, ? or #");
  }
  address.prefix = prefix;
  return address;
}

}  // namespace fray::http_client
