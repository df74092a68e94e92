#include "node/dashboard/node_log.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/fd.h"

namespace fray::node {

namespace {

struct LogPart {
  std::string text;
  std::uint64_t begin = 0;
};

// Up to the file's present end.
LogPart read_log(std::uint64_t begin) {
  LogPart part;
  os::Fd file(::open(NodeLog::path().c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct stat found {};
  if (!file.is_open() || ::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode)) return part;
  const auto size = static_cast<std::uint64_t>(found.st_size);
  begin = std::min(begin, size);
  part.begin = std::max(begin, size - std::min<std::uint64_t>(size, NodeLog::kMostBytes));
  part.text.resize(static_cast<std::size_t>(size - part.begin));
  const ssize_t got = ::pread(file.get(), part.text.data(), part.text.size(), static_cast<off_t>(part.begin));
  part.text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  // A line that began earlier is not shown from its middle.
  if (part.begin > begin) {
    const std::size_t whole = std::min(part.text.find('\n') + 1, part.text.size());
    part.text.erase(0, whole);
    part.begin += whole;
  }
  return part;
}

std::vector<std::string> whole_lines(const LogPart& part, std::uint64_t* end) {
  std::vector<std::string> lines;
  std::string_view rest = part.text;
  for (std::size_t size = rest.find('\n'); size != std::string_view::npos; size = rest.find('\n')) {
    lines.emplace_back(rest.substr(0, size));
    rest.remove_prefix(size + 1);
  }
  *end = part.begin + (part.text.size() - rest.size());
  return lines;
}

}  // namespace

std::string NodeLog::path() {
  struct stat found {};
  if (::fstat(STDERR_FILENO, &found) != 0 || !S_ISREG(found.st_mode)) return {};
  std::error_code error;
  const std::string target = std::filesystem::read_symlink("/proc/self/fd/2", error).string();
  return error ? std::string() : target;
}

std::vector<std::string> NodeLog::last_lines(std::size_t most, std::uint64_t* end) {
  std::vector<std::string> lines = whole_lines(read_log(0), end);
  if (lines.size() > most) lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(most));
  return lines;
}

std::vector<std::string> NodeLog::lines_after(std::uint64_t* end) { return whole_lines(read_log(*end), end); }

}  // namespace fray::node
