#include "model/job_spec.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <type_traits>

#include <fmt/format.h>

namespace fray {

namespace {

constexpr std::size_t kLongestId = 128;
constexpr std::size_t kLongestName = 1024;  // in bytes: 255 characters
constexpr std::size_t kNameInId = 64;
constexpr std::uint32_t kFewestFiles = 16;  // below that no interpreter starts

bool is_plain(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-'; }

Status bad_job(std::string text) { return Status(StatusCode::kInvalidArgument, std::move(text)); }

Status check_name(const std::string& name) {
  if (name.empty()) return bad_job("a job needs a name of at least one character");
  if (name.size() > kLongestName) {
    return bad_job(fmt::format("a job's name has at most {} bytes, this one has {}", kLongestName, name.size()));
  }
  for (char c : name) {
    if (c == ' ') return bad_job(fmt::format("a job's name must not contain spaces, got '{}'; use '-'", name));
    if (c == '/') return bad_job(fmt::format("a job's name must not contain slashes, got '{}'; use '-'", name));
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      return bad_job("a job's name must consist of printable characters");
    }
  }
  return Status::ok();
}

bool has_null(const std::string& text) { return text.find('\0') != std::string::npos; }

Status check_variables(const JobSpec& spec) {
  for (const auto& [name, value] : spec.environment) {
    if (name.empty() || name.find('=') != std::string::npos || has_null(name)) {
      return bad_job("a variable of a job's environment has a name that is empty or contains '=' or NUL");
    }
    if (has_null(value)) return bad_job(fmt::format("the value of the variable {} contains NUL", name));
  }
  return Status::ok();
}

}  // namespace

bool is_job_id(const std::string& id) {
  return !id.empty() && id.size() <= kLongestId && std::all_of(id.begin(), id.end(), is_plain) && id[0] != '.' &&
         id[0] != '-';
}

std::string make_job_id(const std::string& name, const std::string& unique) {
  std::string plain = name.substr(0, kNameInId);
  std::replace_if(
      plain.begin(), plain.end(), [](char c) { return !is_plain(c); }, '-');
  if (plain.empty() || plain[0] == '.' || plain[0] == '-') plain = "job" + plain;
  return plain + "-" + unique;
}

std::string job_name_of(const std::vector<std::string>& command) {
  std::string chosen = command.empty() ? "" : command.front();
  for (const std::string& word : command) {
    if (word.ends_with(".py") || word.ends_with(".sh")) {
      chosen = word;
      break;
    }
  }
  std::string name = std::filesystem::path(chosen).stem().string();
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return c <= ' ' || c == '/' || c == 0x7f; }, '-');
  std::size_t end = std::min(name.size(), kNameInId);
  while (end < name.size() && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;  // no half characters
  return name.empty() ? "job" : name.substr(0, end);
}

Status check_numbers(const JobSpec& spec) {
  Status checked;
  JobSpec::visit(spec, [&checked](const JobField& field, const auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_arithmetic_v<Value>) {
      const auto number = static_cast<double>(value);
      if (checked.is_ok() && !(number >= field.least && number <= field.most)) {
        checked = bad_job(fmt::format("{} is {:.15g}; it must be a {}number from {:.15g} to {:.15g}", field.name,
                                      number, std::is_integral_v<Value> ? "whole " : "", field.least, field.most));
      }
    }
  });
  return checked;
}

Status JobSpec::check() const {
  FRAY_RETURN_IF_ERROR(check_name(name));
  if (!id.empty() && !is_job_id(id)) {
    return bad_job(
        fmt::format("a job's id has 1 to {} letters, digits, '.', '_' and '-', and begins with neither '.' nor '-'; "
                    "got '{}'",
                    kLongestId, id));
  }
  if (command.empty() || command.front().empty()) return bad_job("a job needs a command, got none");
  if (std::any_of(command.begin(), command.end(), has_null)) return bad_job("a job's command must not contain NUL");
  if (folder.empty()) return bad_job("a job needs a folder to run in, got none");
  if (folder.front() != '/' || has_null(folder)) {
    return bad_job(fmt::format("a job's folder must be an absolute path, got '{}'", folder));
  }
  FRAY_RETURN_IF_ERROR(check_variables(*this));
  FRAY_RETURN_IF_ERROR(check_numbers(*this));
  if (max_processes > 0 && max_processes < replicas) {
    return bad_job(fmt::format("a job of {} replicas needs a process limit of at least {}, got {}", replicas, replicas,
                               max_processes));
  }
  if (max_files > 0 && max_files < kFewestFiles) {
    return bad_job(fmt::format("a job's limit of open files is at least {}, got {}", kFewestFiles, max_files));
  }
  return Status::ok();
}

}  // namespace fray
