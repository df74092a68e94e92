#include "base/passwords.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace fray {

namespace {

struct Marks {
  std::string_view start;
  std::string_view at;
};

constexpr Marks kPlain{"//", "@"};
constexpr Marks kEncoded{"%2F%2F", "%40"};

bool is_same(char one, char other) {
  return std::toupper(static_cast<unsigned char>(one)) == std::toupper(static_cast<unsigned char>(other));
}

std::size_t find(std::string_view text, std::string_view mark) {
  const auto found = std::search(text.begin(), text.end(), mark.begin(), mark.end(), is_same);
  return found == text.end() ? std::string_view::npos : static_cast<std::size_t>(found - text.begin());
}

// The length of the name and the password at the front of what follows `marks.start`; 0 without them.
std::size_t secret_length(std::string_view rest, const Marks& marks) {
  const auto ends = [](char c) { return c == '/' || std::isspace(static_cast<unsigned char>(c)) != 0; };
  const auto end = std::find_if(rest.begin(), rest.end(), ends);
  const std::string_view authority(rest.data(), static_cast<std::size_t>(end - rest.begin()));
  const std::size_t plain = authority.rfind('@');
  const std::size_t encoded = marks.at == kPlain.at ? std::string_view::npos : authority.rfind(marks.at);
  if (plain == std::string_view::npos) return encoded == std::string_view::npos ? 0 : encoded;
  return encoded == std::string_view::npos ? plain : std::max(plain, encoded);
}

}  // namespace

std::string without_passwords(std::string_view text) {
  std::string shown;
  while (true) {
    const std::size_t plain = find(text, kPlain.start);
    const std::size_t encoded = find(text, kEncoded.start);
    if (plain == encoded) return shown.append(text);  // neither is there
    const Marks& marks = plain < encoded ? kPlain : kEncoded;
    const std::size_t after = std::min(plain, encoded) + marks.start.size();
    shown.append(text.substr(0, after));
    text.remove_prefix(after);
    const std::size_t secret = secret_length(text, marks);
    if (secret > 0) shown.append("...");
    text.remove_prefix(secret);
  }
}

}  // namespace fray
