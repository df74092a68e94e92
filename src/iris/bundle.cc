#include "iris/bundle.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/amount_text.h"
#include "os/fd.h"
#include "runtime_env/folder_listing.h"
#include "runtime_env/zip_writer.h"

namespace fray::iris {

namespace {

using runtime_env::TreeItem;
using runtime_env::ZipWriter;

constexpr std::size_t kLargestFilesShown = 3;

Status bundle_too_large(const std::string& folder, const std::vector<TreeItem>& items) {
  std::vector<std::pair<std::uint64_t, std::string>> files;
  for (const TreeItem& item : items) files.emplace_back(item.bytes, item.path);
  std::sort(files.rbegin(), files.rend());
  std::string shown;
  for (std::size_t i = 0; i < std::min(files.size(), kLargestFilesShown); ++i) {
    shown += fmt::format("{}{} ({})", i == 0 ? "" : ", ", files[i].second, bytes_text(files[i].first));
  }
  return Status(
      StatusCode::kResourceExhausted,
      fmt::format("the workspace {} is too large for Iris, which takes {}; its largest files are {}; name what "
                  "jobs do not need in a .frayignore file there, or put data on shared storage",
                  folder, bytes_text(kMostBundleBytes), shown));
}

Status add_item(ZipWriter& zip, const std::string& folder, const TreeItem& item) {
  const std::string path = folder + "/" + item.path;
  if (item.kind == TreeItem::Kind::kFolder) return zip.add_folder(item.path);
  struct stat found {};
  const os::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open() || ::fstat(file.get(), &found) != 0) {
    if (item.kind == TreeItem::Kind::kLink) return Status::ok();  // its target does not exist
    return Status::io_error("cannot read " + path, errno);
  }
  if (!S_ISREG(found.st_mode)) return Status::ok();
  return zip.add_file(item.path, file.get(), (found.st_mode & S_IXUSR) != 0);
}

std::string sha256_of(const std::string& bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr);
  std::string text;
  for (unsigned i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

Result<std::string> bytes_of(int fd, std::uint64_t size) {
  std::string bytes(size, '\0');
  for (std::size_t offset = 0; offset < bytes.size();) {
    const ssize_t got = ::pread(fd, bytes.data() + offset, bytes.size() - offset, static_cast<off_t>(offset));
    if (got <= 0) return Status::io_error("cannot read the bundle", got < 0 ? errno : EIO);
    offset += static_cast<std::size_t>(got);
  }
  return bytes;
}

}  // namespace

Result<Bundle> make_bundle(const std::string& folder) {
  struct stat found {};
  if (::stat(folder.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("there is no folder {}; name the folder that the job is to run in", folder));
  }
  auto items = runtime_env::list_folder(folder, {});
  if (!items.is_ok()) return items.status();
  const os::Fd file(::memfd_create("fray-bundle", MFD_CLOEXEC));
  if (!file.is_open()) return Status::io_error("cannot create memory for the bundle", errno);
  ZipWriter zip(file.get(), kMostBundleBytes);
  Status added;
  for (const TreeItem& item : *items) {
    if (added.is_ok()) added = add_item(zip, folder, item);
  }
  if (added.is_ok()) added = zip.finish();
  if (added.code() == StatusCode::kResourceExhausted) return bundle_too_large(folder, *items);
  FRAY_RETURN_IF_ERROR(added);
  Bundle bundle;
  FRAY_ASSIGN_OR_RETURN(bundle.bytes, bytes_of(file.get(), zip.size()));
  bundle.id = sha256_of(bundle.bytes);
  return bundle;
}

}  // namespace fray::iris
