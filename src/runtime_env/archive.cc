#include "runtime_env/archive.h"

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <filesystem>
#include <map>
#include <memory>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/join.h"
#include "os/fd.h"
#include "runtime_env/archive_library.h"

namespace fray::runtime_env {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kArchiveBlock = 64u << 10;
constexpr std::uint64_t kSmall = 16u << 20;  // below this size the rate of compression does not matter

struct ReadFree {
  const ArchiveLibrary* library = nullptr;
  void operator()(archive* handle) const { library->read_free(handle); }
};

Status refused(const std::string& archive, const std::string& why) {
  return Status(StatusCode::kRuntimeEnv, fmt::format("the archive {} is refused: {}", archive, why));
}

// Returns "a/b" for "a/./b"; empty for a path that leads out of the folder.
std::string safe_path(const std::string& name) {
  if (name.empty() || name.front() == '/' || name.find('\\') != std::string::npos) return {};
  std::string safe;
  for (const fs::path& part : fs::path(name)) {
    if (part == "..") return {};
    if (part == "." || part.empty()) continue;
    if (!safe.empty()) safe += '/';
    safe += part.string();
  }
  return safe.empty() ? "." : safe;
}

using Links = std::map<std::string, std::string>;  // targets by path

// Whether following the link, through any other links of the archive, leaves the folder at any point. A missing path
// counts as a folder, because it may become one later.
bool leads_out(const Links& links, const std::string& link) {
  constexpr int kMostFollowed = 40;  // the limit of Linux
  std::vector<std::string> here;
  std::vector<std::string> to_go;  // in reverse order: the next part is the last element
  const auto go = [&to_go](const fs::path& steps) {
    const std::size_t before = to_go.size();
    for (const fs::path& step : steps) to_go.push_back(step.string());
    std::reverse(to_go.begin() + static_cast<std::ptrdiff_t>(before), to_go.end());
  };
  go(link);
  for (int followed = 0; !to_go.empty();) {
    const std::string step = std::move(to_go.back());
    to_go.pop_back();
    if (step.empty() || step == ".") continue;
    if (step == "..") {
      if (here.empty()) return true;
      here.pop_back();
      continue;
    }
    here.push_back(step);
    const auto next = links.find(fmt::format("{}", fmt::join(here, "/")));
    if (next == links.end()) continue;
    if (next->second.empty() || next->second.front() == '/') return true;
    if (++followed > kMostFollowed) return false;
    here.pop_back();
    go(next->second);
  }
  return false;
}

// Sets the locale of the thread to UTF-8 for the lifetime of the object: names in archives are bytes or UTF-8, but
// libarchive decodes them by the thread's locale.
class Utf8Names {
 public:
  Utf8Names() {
    for (const char* name : {"C.UTF-8", "C.utf8", "en_US.UTF-8"}) {
      if (utf8_ == nullptr) utf8_ = ::newlocale(LC_CTYPE_MASK, name, nullptr);
    }
    if (utf8_ != nullptr) before_ = ::uselocale(utf8_);
  }
  ~Utf8Names() {
    if (utf8_ == nullptr) return;
    ::uselocale(before_);
    ::freelocale(utf8_);
  }
  Utf8Names(const Utf8Names&) = delete;
  Utf8Names& operator=(const Utf8Names&) = delete;

 private:
  locale_t utf8_ = nullptr;
  locale_t before_ = nullptr;
};

class Unpacker {
 public:
  Unpacker(std::string archive, const TreeLimits& limits) : archive_(std::move(archive)), limits_(limits) {}

  Status unpack(const std::string& folder) {
    const Utf8Names names;
    struct stat found {};
    if (::stat(archive_.c_str(), &found) != 0) {
      return Status(StatusCode::kNotFound, fmt::format("there is no archive {}", archive_));
    }
    packed_ = static_cast<std::uint64_t>(found.st_size);
    root_ = os::Fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!root_.is_open()) return Status::io_error("cannot open " + folder, errno);
    FRAY_ASSIGN_OR_RETURN(library_, ArchiveLibrary::load());
    reader_ = {library_->read_new(), ReadFree{library_}};
    library_->read_support_format_all(reader_.get());
    library_->read_support_filter_all(reader_.get());
    if (library_->read_open_filename(reader_.get(), archive_.c_str(), kArchiveBlock) != ARCHIVE_OK) return unreadable();
    archive_entry* entry = nullptr;
    while (true) {
      const int got = library_->read_next_header(reader_.get(), &entry);
      if (got == ARCHIVE_EOF) break;
      if (got != ARCHIVE_OK && got != ARCHIVE_WARN) return unreadable();
      FRAY_RETURN_IF_ERROR(take(entry));
    }
    return make_links();
  }

 private:
  Status unreadable() {
    const char* why = library_->error_string(reader_.get());
    return refused(archive_, fmt::format("it cannot be read ({})", why == nullptr ? "no reason given" : why));
  }

  Status take(archive_entry* entry) {
    const char* text = library_->entry_pathname(entry);
    const std::string name = text == nullptr ? "" : text;
    const std::string path = safe_path(name);
    if (path.empty()) return refused(archive_, fmt::format("{:?} is no path inside a folder", name));
    if (++entries_ > limits_.entries) return refused(archive_, fmt::format("more than {} entries", limits_.entries));
    if (const char* target = library_->entry_hardlink(entry)) return take_hard_link(path, target);
    const auto type = library_->entry_filetype(entry);
    if (type == AE_IFDIR) return make_folder(path);
    if (type == AE_IFLNK) {
      const char* target = library_->entry_symlink(entry);
      links_[path] = target == nullptr ? "" : target;  // the entry that comes last counts
      return Status::ok();
    }
    if (type != AE_IFREG && type != 0) return refused(archive_, fmt::format("{:?} is no file, folder or link", name));
    return take_file(path, (library_->entry_perm(entry) & S_IXUSR) != 0);
  }

  Result<os::Fd> open_below(const std::string& path, std::uint64_t flags, std::uint64_t mode) {
    open_how how{};
    how.flags = flags | O_CLOEXEC;
    how.mode = mode;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    os::Fd fd(static_cast<int>(::syscall(SYS_openat2, root_.get(), path.c_str(), &how, sizeof(how))));
    if (fd.is_open()) return fd;
    return Status::io_error(fmt::format("cannot unpack {:?}", path), errno);
  }

  // Opens the folder that contains `path`; missing folders are made.
  Result<os::Fd> parent_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash);
    if (parent != ".") FRAY_RETURN_IF_ERROR(make_folder(parent));
    return open_below(parent, O_RDONLY | O_DIRECTORY, 0);
  }

  static std::string name_in_parent(const std::string& path) { return path.substr(path.rfind('/') + 1); }

  Status make_folder(const std::string& path) {
    if (path == ".") return Status::ok();
    if (open_below(path, O_RDONLY | O_DIRECTORY, 0).is_ok()) return Status::ok();
    FRAY_ASSIGN_OR_RETURN(os::Fd parent, parent_of(path));
    if (::mkdirat(parent.get(), name_in_parent(path).c_str(), 0700) == 0) return Status::ok();
    return refused(archive_, fmt::format("{:?} is a folder here and something else there", path));
  }

  Status take_file(const std::string& path, bool executable) {
    FRAY_ASSIGN_OR_RETURN(os::Fd parent, parent_of(path));
    const std::string name = name_in_parent(path);
    ::unlinkat(parent.get(), name.c_str(), 0);  // the entry that comes last counts
    os::Fd file(::openat(parent.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                         executable ? 0700 : 0600));
    if (!file.is_open()) return refused(archive_, fmt::format("{:?} is a file here and something else there", path));
    const void* block = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    while (true) {
      const int got = library_->read_data_block(reader_.get(), &block, &size, &offset);
      if (got == ARCHIVE_EOF) return Status::ok();
      if (got != ARCHIVE_OK && got != ARCHIVE_WARN) return unreadable();
      FRAY_RETURN_IF_ERROR(count(path, size, offset));
      for (std::size_t done = 0; done < size;) {
        const ssize_t written = ::pwrite(file.get(), static_cast<const char*>(block) + done, size - done,
                                         static_cast<off_t>(offset) + static_cast<off_t>(done));
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return Status::io_error("cannot unpack " + path, errno);
        done += static_cast<std::size_t>(written);
      }
    }
  }

  // Holes of sparse files count as well, because reading them takes as long.
  Status count(const std::string& path, std::size_t size, la_int64_t offset) {
    unpacked_ += size;
    const std::uint64_t end = static_cast<std::uint64_t>(offset) + size;
    if (unpacked_ > limits_.bytes || end > limits_.bytes) {
      return refused(archive_, fmt::format("it unpacks to more than {} bytes", limits_.bytes));
    }
    if (std::max(unpacked_, end) > kSmall && std::max(unpacked_, end) / limits_.ratio > packed_) {
      return refused(archive_,
                     fmt::format("{:?} unpacks to more than {} times the archive's size", path, limits_.ratio));
    }
    return Status::ok();
  }

  Status take_hard_link(const std::string& path, const std::string& target) {
    const std::string there = safe_path(target);
    if (there.empty()) return refused(archive_, fmt::format("the link {:?} leads out of the folder", path));
    FRAY_ASSIGN_OR_RETURN(os::Fd from, parent_of(there));
    FRAY_ASSIGN_OR_RETURN(os::Fd to, parent_of(path));
    if (::linkat(from.get(), name_in_parent(there).c_str(), to.get(), name_in_parent(path).c_str(), 0) == 0) {
      return Status::ok();
    }
    return refused(archive_, fmt::format("{:?} is a link to {:?}, which is not there", path, target));
  }

  // Links are made last, so that no file was written through one.
  Status make_links() {
    for (const auto& [path, target] : links_) {
      if (leads_out(links_, path)) return refused(archive_, fmt::format("the link {:?} leads out of the folder", path));
      FRAY_ASSIGN_OR_RETURN(os::Fd parent, parent_of(path));
      if (::symlinkat(target.c_str(), parent.get(), name_in_parent(path).c_str()) != 0) {
        return refused(archive_, fmt::format("{:?} is a link here and something else there", path));
      }
    }
    return Status::ok();
  }

  const std::string archive_;
  const TreeLimits& limits_;
  std::uint64_t packed_ = 0;
  std::uint64_t unpacked_ = 0;
  std::uint64_t entries_ = 0;
  os::Fd root_;
  const ArchiveLibrary* library_ = nullptr;
  std::unique_ptr<archive, ReadFree> reader_;
  Links links_;
};

}  // namespace

Status unpack_archive(const std::string& archive, const std::string& folder, const TreeLimits& limits) {
  return Unpacker(archive, limits).unpack(folder);
}

}  // namespace fray::runtime_env
