#include "http/secret.h"

#include <array>
#include <cerrno>

#include <fmt/format.h>
#include <sys/random.h>

namespace fray::http {

Result<std::string> draw_secret() {
  std::array<unsigned char, 32> drawn{};
  if (::getrandom(drawn.data(), drawn.size(), 0) != static_cast<ssize_t>(drawn.size())) {
    return Status::io_error("cannot draw random bytes", errno);
  }
  std::string secret;
  for (unsigned char byte : drawn) secret += fmt::format("{:02x}", byte);
  return secret;
}

}  // namespace fray::http
