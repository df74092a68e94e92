#include "http/package_store.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "os/fd.h"

namespace fray::http {

namespace {

namespace fs = std::filesystem;

constexpr const char* kProtocol = "gcs";
constexpr std::size_t kLongestName = 200;
constexpr std::array<const char*, 4> kKinds = {".zip", ".tar.gz", ".tgz", ".tar.xz"};
constexpr std::chrono::hours kLongestRest{7 * 24};
constexpr std::uintmax_t kMostBytesOfAll = std::uintmax_t{10} << 30;

struct Sum {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  explicit Sum(const EVP_MD* kind) { EVP_DigestInit_ex(context, kind, nullptr); }
  ~Sum() { EVP_MD_CTX_free(context); }
  Sum(const Sum&) = delete;
  Sum& operator=(const Sum&) = delete;

  void add(std::string_view bytes) { EVP_DigestUpdate(context, bytes.data(), bytes.size()); }
  std::string text() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
    unsigned size = 0;
    EVP_DigestFinal_ex(context, bytes.data(), &size);
    std::string digits;
    for (unsigned i = 0; i < size; ++i) digits += fmt::format("{:02x}", bytes[i]);
    return digits;
  }
};

const EVP_MD* kind_of(std::size_t digits) {
  if (digits == 40) return EVP_sha1();
  return digits == 64 ? EVP_sha256() : nullptr;
}

// The checksum in a name, "0123…" of "_ray_pkg_0123….zip"; empty where it has none.
std::string sum_in(const std::string& name) {
  const std::string stem = name.substr(0, name.find('.'));
  const std::string digits = stem.substr(stem.rfind('_') + 1);
  const bool is_hex = std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isxdigit(c) != 0; });
  return is_hex && kind_of(digits.size()) != nullptr ? digits : "";
}

Status failed(const std::string& what, int error) {
  if (error == ENOSPC || error == EDQUOT) return Status(StatusCode::kResourceExhausted, what + ": the disk is full");
  return Status::io_error(what, error);
}

class FileDraft : public PackageStore::Draft {
 public:
  FileDraft(std::string path, std::string draft, os::Fd file, std::string sum)
      : path_(std::move(path)), draft_(std::move(draft)), file_(std::move(file)), wanted_(std::move(sum)) {
    if (!wanted_.empty()) sum_ = std::make_unique<Sum>(kind_of(wanted_.size()));
  }
  ~FileDraft() override {
    if (file_.is_open()) ::unlink(draft_.c_str());
  }

  Status write(std::string_view bytes) override {
    if (sum_) sum_->add(bytes);
    if (FRAY_FAULT("package.write", ENOSPC)) return failed("the package cannot be kept", errno);
    while (!bytes.empty()) {
      const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return failed("the package cannot be kept", errno);
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return Status::ok();
  }

  Status finish() override {
    if (sum_ && sum_->text() != wanted_) {
      return Status(StatusCode::kInvalidArgument,
                    "the bytes are not those that the package's name is made of; they were damaged on their way");
    }
    // An existing package is kept, because jobs may be reading it.
    if (::link(draft_.c_str(), path_.c_str()) != 0 && errno != EEXIST) {
      return failed("the package cannot be kept", errno);
    }
    ::unlink(draft_.c_str());
    file_.reset();
    return Status::ok();
  }

 private:
  std::string path_;
  std::string draft_;
  os::Fd file_;
  std::string wanted_;
  std::unique_ptr<Sum> sum_;
};

}  // namespace

Status PackageStore::check_name(const std::string& protocol, const std::string& name) {
  if (protocol != kProtocol) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("packages have the protocol {}, got '{}'", kProtocol, protocol));
  }
  const bool is_plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
  });
  const bool is_archive =
      std::any_of(kKinds.begin(), kKinds.end(), [&](const char* kind) { return name.ends_with(kind); });
  if (is_plain && is_archive && name.size() <= kLongestName && name.front() != '.') return Status::ok();
  return Status(StatusCode::kInvalidArgument,
                "a package's name has letters, digits, '.', '_' and '-', and ends with .zip, .tar.gz, .tgz or .tar.xz");
}

Status PackageStore::make_folder() {
  if (::mkdir(folder_.c_str(), 0700) == 0 || errno == EEXIST) return Status::ok();
  return failed("cannot create " + folder_, errno);
}

bool PackageStore::has(const std::string& protocol, const std::string& name) const {
  if (!check_name(protocol, name).is_ok()) return false;
  return ::utimensat(AT_FDCWD, (folder_ + "/" + name).c_str(), nullptr, AT_SYMLINK_NOFOLLOW) == 0;
}

Result<std::shared_ptr<PackageStore::Draft>> PackageStore::begin(const std::string& protocol, const std::string& name) {
  FRAY_RETURN_IF_ERROR(check_name(protocol, name));
  FRAY_RETURN_IF_ERROR(make_folder());
  prune();
  std::string draft = folder_ + "/.draft-XXXXXX";
  os::Fd file(::mkostemp(draft.data(), O_CLOEXEC));
  if (!file.is_open()) return failed("cannot create a file in " + folder_, errno);
  return std::shared_ptr<Draft>(
      std::make_shared<FileDraft>(folder_ + "/" + name, std::move(draft), std::move(file), sum_in(name)));
}

Result<std::string> PackageStore::path_of(const std::string& uri) const {
  const std::string scheme = std::string(kProtocol) + "://";
  const std::string name = uri.starts_with(scheme) ? uri.substr(scheme.size()) : uri;
  FRAY_RETURN_IF_ERROR(check_name(uri.starts_with(scheme) ? kProtocol : uri.substr(0, uri.find(':')), name));
  if (has(kProtocol, name)) return folder_ + "/" + name;
  return Status(
      StatusCode::kNotFound,
      fmt::format("this node has no package {}; it keeps packages for a week after they were used last", uri));
}

void PackageStore::prune() const {
  std::vector<std::pair<fs::file_time_type, fs::path>> packages;
  std::uintmax_t bytes = 0;
  std::error_code error;
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code gone;
    bytes += entry->file_size(gone);
    packages.emplace_back(entry->last_write_time(gone), entry->path());
  }
  std::sort(packages.begin(), packages.end());
  for (const auto& [used, path] : packages) {
    if (fs::file_time_type::clock::now() - used < kLongestRest && bytes <= kMostBytesOfAll) return;
    std::error_code gone;
    const std::uintmax_t size = fs::file_size(path, gone);
    if (fs::remove(path, gone)) bytes -= std::min(bytes, size);
  }
}

}  // namespace fray::http
