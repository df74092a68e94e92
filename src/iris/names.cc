#include "iris/names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include <fmt/format.h>
#include <pwd.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/utf8.h"

namespace fray::iris {

namespace {

constexpr std::size_t kLongestName = 200;
constexpr std::size_t kMarkBytes = 16;
constexpr std::size_t kEndDigits = 8;  // of the random end of a new name

Status wrong_name(std::string_view what, std::string_view given, std::string_view why) {
  return Status(StatusCode::kInvalidArgument, fmt::format("{} \"{}\" cannot be used on Iris: {}", what, given, why));
}

bool is_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Status check_part(std::string_view what, std::string_view part) {
  if (part.find_first_not_of(" \t") == std::string_view::npos) {
    return wrong_name(what, part, "it is empty; give it a name such as train");
  }
  if (part.find('/') != std::string_view::npos) {
    return wrong_name(what, part, "a slash separates users, jobs and their children; write - or _ in its place");
  }
  const bool has_controls =
      std::any_of(part.begin(), part.end(), [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7F; });
  if (has_controls || !is_utf8(part)) {
    return wrong_name(what, "...", "it has control characters, or bytes that are no UTF-8");
  }
  if (part.size() > kLongestName) {
    return wrong_name(what, part.substr(0, 20), fmt::format("it is longer than {} bytes", kLongestName));
  }
  return Status::ok();
}

Status check_child(std::string_view name) {
  if (!is_digits(name)) return Status::ok();
  return wrong_name("the name of a child job", name,
                    "names that are all digits are those of tasks; put a letter into it");
}

Status check_id(std::string_view id) {
  std::string_view rest = id;
  std::size_t parts = 0;
  std::string_view part;
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::size_t end = std::min(rest.find('/'), rest.size());
    part = rest.substr(0, end);
    FRAY_RETURN_IF_ERROR(check_part(parts == 0 ? "the user" : "the job name", part));
    rest.remove_prefix(end);
    ++parts;
  }
  if (parts < 2) return wrong_name("the id", id, "the id of a job is /USER/JOB, and /USER/JOB/CHILD for its children");
  if (parts >= 3 && is_digits(part)) return wrong_name("the id", id, "it names a task; leave its last part out");
  return Status::ok();
}

}  // namespace

Result<std::string> job_id(const std::string& user, const std::string& parent, const std::string& name) {
  FRAY_RETURN_IF_ERROR(check_part("the job name", name));
  if (!parent.empty()) {
    FRAY_RETURN_IF_ERROR(check_id(parent));
    FRAY_RETURN_IF_ERROR(check_child(name));
    return parent + "/" + name;
  }
  FRAY_RETURN_IF_ERROR(check_part("the user", user));
  return "/" + user + "/" + name;
}

Result<std::string> resolve_id(const std::string& user, const std::string& text) {
  if (!text.starts_with('/')) return job_id(user, "", text);
  FRAY_RETURN_IF_ERROR(check_id(text));
  return text;
}

bool is_child(std::string_view id) { return std::count(id.begin(), id.end(), '/') > 2; }

std::string_view parent_in(std::string_view id) { return id.substr(0, id.rfind('/')); }

std::string_view name_in(std::string_view id) { return id.substr(id.rfind('/') + 1); }

std::string_view user_in(std::string_view id) {
  id.remove_prefix(id.starts_with('/') ? 1 : 0);
  return id.substr(0, id.find('/'));
}

std::string new_mark() {
  std::array<unsigned char, kMarkBytes> drawn{};
  while (::getrandom(drawn.data(), drawn.size(), 0) != static_cast<ssize_t>(drawn.size())) {
  }
  std::string mark;
  for (unsigned char byte : drawn) mark += fmt::format("{:02x}", byte);
  return mark;
}

std::string new_name(std::string_view stem) { return fmt::format("{}-{}", stem, new_mark().substr(0, kEndDigits)); }

std::string_view stem_of(std::string_view name) {
  const std::size_t dash = name.rfind('-');
  const bool has_end = dash != std::string_view::npos && dash > 0 && name.size() - dash - 1 == kEndDigits &&
                       name.find_first_not_of("0123456789abcdef", dash + 1) == std::string_view::npos;
  return has_end ? name.substr(0, dash) : name;
}

std::optional<AttemptName> parse_attempt(std::string_view key) {
  const std::size_t colon = key.rfind(':');
  const std::size_t slash = key.rfind('/', colon);
  if (colon == std::string_view::npos || slash == std::string_view::npos || slash == 0) return std::nullopt;
  AttemptName name{key.substr(0, slash)};
  auto read = [](std::string_view text, int* number) {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
    return error == std::errc() && end == text.data() + text.size() && *number >= 0;
  };
  if (!read(key.substr(slash + 1, colon - slash - 1), &name.task)) return std::nullopt;
  if (!read(key.substr(colon + 1), &name.attempt)) return std::nullopt;
  return name;
}

std::string current_user() {
  for (const char* variable : {"LOGNAME", "USER", "LNAME", "USERNAME"}) {
    const char* value = std::getenv(variable);
    if (value != nullptr && *value != '\0') return value;
  }
  const passwd* found = ::getpwuid(::getuid());
  return found != nullptr ? found->pw_name : fmt::format("uid-{}", ::getuid());
}

}  // namespace fray::iris
