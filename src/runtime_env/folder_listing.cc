#include "runtime_env/folder_listing.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/machine/machine.h"
#include "runtime_env/ignore_rules.h"

namespace fray::runtime_env {

namespace {

namespace fs = std::filesystem;

constexpr std::array kNeverTaken = {".git", ".hg", ".svn", ".jj", "__pycache__"};

class Lister {
 public:
  Lister(std::string root, const TreeLimits& limits) : root_(std::move(root)), limits_(limits) {}

  Status list(const std::string& below) {
    const std::string folder = below.empty() ? root_ : root_ + "/" + below;
    rules_.enter(below, rules_of(folder));
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& each : fs::directory_iterator(folder, error)) names.push_back(each.path().filename().string());
    if (error) return Status(StatusCode::kIoError, fmt::format("cannot read {}: {}", folder, error.message()));
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      FRAY_RETURN_IF_ERROR(look_at(below.empty() ? name : below + "/" + name));
    }
    rules_.leave();
    return Status::ok();
  }

  std::vector<TreeItem> take() { return std::move(items_); }

 private:
  static IgnoreFile rules_of(const std::string& folder) {
    IgnoreFile rules = IgnoreFile::parse(os::read_text(folder + "/.gitignore"));
    rules.append(IgnoreFile::parse(os::read_text(folder + "/.frayignore")));
    return rules;
  }

  bool is_ignored(const std::string& path, bool is_folder) const {
    const std::string name = path.substr(path.rfind('/') + 1);
    if (std::find(kNeverTaken.begin(), kNeverTaken.end(), name) != kNeverTaken.end()) return true;
    if (is_folder && ::access((root_ + "/" + path + "/pyvenv.cfg").c_str(), F_OK) == 0) return true;
    return rules_.ignores(path, is_folder);
  }

  Status look_at(const std::string& path) {
    struct stat found {};
    if (::lstat((root_ + "/" + path).c_str(), &found) != 0) return Status::ok();  // the file was removed meanwhile
    if (is_ignored(path, S_ISDIR(found.st_mode))) return Status::ok();
    TreeItem item;
    item.path = path;
    if (S_ISDIR(found.st_mode)) {
      item.kind = TreeItem::Kind::kFolder;
    } else if (S_ISLNK(found.st_mode)) {
      item.kind = TreeItem::Kind::kLink;
      item.target = target_of(path);
    } else if (S_ISREG(found.st_mode)) {
      item.executable = (found.st_mode & S_IXUSR) != 0;
      item.bytes = static_cast<std::uint64_t>(found.st_size);
    } else {
      return Status::ok();
    }
    bytes_ += item.bytes;
    const bool is_folder = item.kind == TreeItem::Kind::kFolder;
    items_.push_back(std::move(item));
    if (bytes_ > limits_.bytes || items_.size() > limits_.entries) return too_large();
    return is_folder ? list(path) : Status::ok();
  }

  std::string target_of(const std::string& path) const {
    std::error_code ignored;
    const fs::path target = fs::read_symlink(root_ + "/" + path, ignored);
    if (target.is_absolute()) return target.string();
    const fs::path parent = fs::path(path).parent_path();
    const fs::path inside = (parent / target).lexically_normal();
    if (inside.empty() || *inside.begin() != "..") return target.string();
    return (fs::path(root_) / inside).lexically_normal().string();
  }

  Status too_large() const {
    return Status(
        StatusCode::kRuntimeEnv,
        fmt::format("working_dir {} has more than {} files or {} GiB; name what is not needed in a .frayignore "
                    "file there (its syntax is that of .gitignore)",
                    root_, limits_.entries, limits_.bytes >> 30));
  }

  const std::string root_;
  const TreeLimits& limits_;
  IgnoreRules rules_;
  std::vector<TreeItem> items_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

Result<std::vector<TreeItem>> list_folder(const std::string& folder, const TreeLimits& limits) {
  Lister lister(folder, limits);
  FRAY_RETURN_IF_ERROR(lister.list(""));
  return lister.take();
}

}  // namespace fray::runtime_env
