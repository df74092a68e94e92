#include "runtime_env/archive_library.h"

#include <string>

#include <dlfcn.h>

namespace fray::runtime_env {

namespace {

constexpr const char* kName = "libarchive.so.13";

// Loads the function of this name; false where the library has none.
template <typename Function>
bool find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}

Result<const ArchiveLibrary*> load_once() {
  void* library = ::dlopen(kName, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Status(StatusCode::kRuntimeEnv, std::string(::dlerror()) +
                                               "; archives are read with libarchive: apt-get install libarchive13, or "
                                               "name the unpacked folder");
  }
  static ArchiveLibrary loaded;
  const bool whole = find(library, "archive_read_new", loaded.read_new) &&
                     find(library, "archive_read_free", loaded.read_free) &&
                     find(library, "archive_read_support_format_all", loaded.read_support_format_all) &&
                     find(library, "archive_read_support_filter_all", loaded.read_support_filter_all) &&
                     find(library, "archive_read_open_filename", loaded.read_open_filename) &&
                     find(library, "archive_read_next_header", loaded.read_next_header) &&
                     find(library, "archive_read_data_block", loaded.read_data_block) &&
                     find(library, "archive_error_string", loaded.error_string) &&
                     find(library, "archive_entry_pathname", loaded.entry_pathname) &&
                     find(library, "archive_entry_hardlink", loaded.entry_hardlink) &&
                     find(library, "archive_entry_symlink", loaded.entry_symlink) &&
                     find(library, "archive_entry_filetype", loaded.entry_filetype) &&
                     find(library, "archive_entry_perm", loaded.entry_perm);
  if (!whole) return Status(StatusCode::kRuntimeEnv, std::string(kName) + " lacks functions that every release has");
  return &loaded;
}

}  // namespace

Result<const ArchiveLibrary*> ArchiveLibrary::load() {
  static const Result<const ArchiveLibrary*> loaded = load_once();
  return loaded;
}

}  // namespace fray::runtime_env
