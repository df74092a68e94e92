#include "cluster/spec.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace fray::cluster {

namespace {

// Decodes %XX as the Python package does; other text is unchanged.
std::string decoded(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    const char* digits = text.data() + i + 1;
    if (text[i] == '%' && text.size() - i > 2 && std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      result += static_cast<char>(byte);
      i += 2;
    } else {
      result += text[i] == '+' ? ' ' : text[i];
    }
  }
  return result;
}

}  // namespace

Result<Spec> Spec::parse(std::string_view text) {
  Spec spec;
  const std::size_t query = std::min(text.find('?'), text.size());
  spec.scheme = text.substr(0, query);
  std::string_view rest = text.substr(std::min(query + 1, text.size()));
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view pair = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) {
      return Status(StatusCode::kInvalidArgument,
                    fmt::format("the key {0} of the cluster {1} has no value; write {0}=VALUE", pair, spec.scheme));
    }
    spec.keys.insert_or_assign(decoded(pair.substr(0, equals)), decoded(pair.substr(equals + 1)));
  }
  return spec;
}

}  // namespace fray::cluster
