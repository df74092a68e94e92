#include "http/number_in.h"

#include <charconv>

#include <fmt/format.h>

namespace fray::http {

Result<std::uint64_t> number_in(const Request& request, const std::string& name, std::uint64_t most,
                                std::uint64_t otherwise) {
  auto found = request.query.find(name);
  if (found == request.query.end()) return otherwise;
  const std::string& text = found->second;
  std::uint64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number > most) {
    return Status(StatusCode::kInvalidArgument, fmt::format("{} must be a whole number from 0 to {}", name, most));
  }
  return number;
}

}  // namespace fray::http
