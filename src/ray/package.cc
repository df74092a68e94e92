#include "ray/package.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/join.h"
#include "os/machine/machine.h"
#include "runtime_env/ignore_rules.h"
#include "runtime_env/zip_writer.h"

namespace fray::ray {

namespace {

namespace fs = std::filesystem;
using runtime_env::IgnoreFile;
using runtime_env::IgnoreRules;
using runtime_env::ZipWriter;

constexpr std::string_view kAlwaysExcluded = ".git\n.venv\nvenv\n__pycache__\n";
constexpr std::array<std::string_view, 5> kArchives = {".zip", ".tar.gz", ".tgz", ".tar.xz", ".whl"};
constexpr std::size_t kHashDigits = 32;
constexpr std::size_t kLargestShown = 3;
constexpr std::size_t kReadBytes = 256 << 10;

Status cannot(const std::string& what, const std::string& path, int error) {
  return Status::io_error(fmt::format("cannot {} {}", what, path), error);
}

Result<os::Fd> unlinked_file() {
  const char* folder = std::getenv("TMPDIR");
  if (folder == nullptr || *folder == '\0') folder = "/tmp";
  os::Fd file(::open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file.is_open()) return file;
  std::string name = std::string(folder) + "/fray-package-XXXXXX";
  os::Fd named(::mkostemp(name.data(), O_CLOEXEC));
  if (!named.is_open()) return cannot("create a file in", folder, errno);
  ::unlink(name.c_str());
  return named;
}

Result<std::string> hash_of(int fd, std::uint64_t size) {
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr);
  std::string chunk(kReadBytes, '\0');
  for (std::uint64_t offset = 0; offset < size;) {
    const ssize_t got = ::pread(fd, chunk.data(), chunk.size(), static_cast<off_t>(offset));
    if (got <= 0) return Status::io_error("cannot read the package", got < 0 ? errno : EIO);
    EVP_DigestUpdate(context.get(), chunk.data(), static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  EVP_DigestFinal_ex(context.get(), digest.data(), &length);
  std::string text;
  for (unsigned i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
  return text.substr(0, kHashDigits);
}

bool heeds_gitignore() {
  const char* value = std::getenv("RAY_RUNTIME_ENV_IGNORE_GITIGNORE");
  return value == nullptr || std::string_view(value) != "1";
}

IgnoreFile rules_of(const std::string& folder) {
  IgnoreFile rules;
  if (heeds_gitignore()) rules.append(IgnoreFile::parse(os::read_text(folder + "/.gitignore")));
  rules.append(IgnoreFile::parse(os::read_text(folder + "/.rayignore")));
  return rules;
}

// Walks a folder in the order of names, so that equal files always give the same archive.
class FolderPacker {
 public:
  FolderPacker(const PackageRequest& request, int fd) : request_(request), zip_(fd, request.most_bytes) {
    rules_.enter("", IgnoreFile::parse(fmt::format("{}{}", kAlwaysExcluded, fmt::join(request.excludes, "\n"))));
  }

  Result<std::uint64_t> run() {
    std::string root = fs::path(request_.path).lexically_normal().string();
    while (root.size() > 1 && root.back() == '/') root.pop_back();
    if (request_.with_parent) prefix_ = fs::canonical(root).filename().string() + "/";
    Status packed = add_folder(root, "");
    if (packed.is_ok()) packed = zip_.finish();
    if (packed.code() == StatusCode::kResourceExhausted) return too_large(packed);
    if (!packed.is_ok()) return packed;
    return zip_.size();
  }

 private:
  Status add_folder(const std::string& folder, const std::string& name) {
    struct stat found {};
    if (::stat(folder.c_str(), &found) != 0) return cannot("look at", folder, errno);
    const std::pair identity(found.st_dev, found.st_ino);
    // A link to a folder that contains it would be followed without end.
    if (std::find(above_.begin(), above_.end(), identity) != above_.end()) return Status::ok();
    above_.push_back(identity);
    rules_.enter(name, rules_of(folder));
    Status added = add_entries(folder, name);
    rules_.leave();
    above_.pop_back();
    return added;
  }

  Status add_entries(const std::string& folder, const std::string& name) {
    std::error_code error;
    std::vector<std::string> names;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      names.push_back(entry->path().filename().string());
    }
    if (error) return cannot("read the folder", folder, error.value());
    std::sort(names.begin(), names.end());
    bool empty = true;
    for (const std::string& each : names) {
      FRAY_ASSIGN_OR_RETURN(bool added, add_entry(folder + "/" + each, name.empty() ? each : name + "/" + each));
      empty = empty && !added;
    }
    return empty && !name.empty() ? zip_.add_folder(prefix_ + name) : Status::ok();
  }

  // Whether the entry was added to the archive.
  Result<bool> add_entry(const std::string& path, const std::string& name) {
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0) {
      if (errno == ENOENT || errno == ELOOP) return false;  // a dangling link, or a file that is gone
      return cannot("look at", path, errno);
    }
    const bool is_folder = S_ISDIR(found.st_mode);
    if (rules_.ignores(name, is_folder) || (!is_folder && !S_ISREG(found.st_mode))) return false;
    if (is_folder) {
      FRAY_RETURN_IF_ERROR(add_folder(path, name));
      return true;
    }
    os::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file.is_open()) return cannot("read", path, errno);
    largest_.emplace_back(static_cast<std::uint64_t>(found.st_size), name);
    FRAY_RETURN_IF_ERROR(zip_.add_file(prefix_ + name, file.get(), (found.st_mode & S_IXUSR) != 0));
    return true;
  }

  Status too_large(const Status& why) {
    std::sort(largest_.rbegin(), largest_.rend());
    std::string shown;
    for (std::size_t i = 0; i < std::min(largest_.size(), kLargestShown); ++i) {
      shown += fmt::format("{}{} ({} bytes)", i == 0 ? "" : ", ", largest_[i].second, largest_[i].first);
    }
    return Status(
        StatusCode::kResourceExhausted,
        fmt::format("the package of {} is too large for the cluster: {}; the largest files met so far are {}; "
                    "leave files out with `excludes` or .rayignore, or put the data on shared storage",
                    request_.path, why.message(), shown));
  }

  const PackageRequest& request_;
  ZipWriter zip_;
  IgnoreRules rules_;
  std::string prefix_;
  std::vector<std::pair<dev_t, ino_t>> above_;
  std::vector<std::pair<std::uint64_t, std::string>> largest_;
};

std::optional<std::string_view> archive_kind(const std::string& path) {
  for (std::string_view kind : kArchives) {
    if (path.ends_with(kind)) return kind;
  }
  return std::nullopt;
}

Result<Package> package_archive(const PackageRequest& request, std::uint64_t size) {
  const auto kind = archive_kind(request.path);
  if (!kind) {
    return Status(StatusCode::kInvalidArgument, fmt::format("{} is neither a folder nor an archive; Ray takes {}",
                                                            request.path, fmt::join(kArchives, ", ")));
  }
  if (size > request.most_bytes) {
    return Status(StatusCode::kResourceExhausted,
                  fmt::format("the archive {} has {} bytes, the cluster takes {}; put the data on shared storage",
                              request.path, size, request.most_bytes));
  }
  Package package;
  package.file = os::Fd(::open(request.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!package.file.is_open()) return cannot("read", request.path, errno);
  package.bytes = size;
  FRAY_ASSIGN_OR_RETURN(std::string hash, hash_of(package.file.get(), size));
  // A wheel keeps its file name, because pip reads the name.
  package.name =
      *kind == ".whl" ? fs::path(request.path).filename().string() : fmt::format("_ray_pkg_{}{}", hash, *kind);
  return package;
}

}  // namespace

Result<Package> make_package(const PackageRequest& request) {
  struct stat found {};
  if (::stat(request.path.c_str(), &found) != 0) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("there is no folder or archive {}; give one on this machine, or a URI such as s3://...",
                              request.path));
  }
  if (!S_ISDIR(found.st_mode)) return package_archive(request, static_cast<std::uint64_t>(found.st_size));
  Package package;
  FRAY_ASSIGN_OR_RETURN(package.file, unlinked_file());
  FRAY_ASSIGN_OR_RETURN(package.bytes, FolderPacker(request, package.file.get()).run());
  FRAY_ASSIGN_OR_RETURN(std::string hash, hash_of(package.file.get(), package.bytes));
  package.name = fmt::format("_ray_pkg_{}.zip", hash);
  return package;
}

}  // namespace fray::ray
