// ArchiveLibrary: the functions of libarchive that reading an archive takes. The library is loaded when the first archive is
// opened, so that the program also runs where it is missing.
//
// Threading:  any thread.
// Ownership:  loaded once, for the life of the process.
// Failure:    load() answers kRuntimeEnv where the library is not installed, and says how to install it.
#pragma once

#include <archive.h>
#include <archive_entry.h>

#include "base/status.h"

namespace fray::runtime_env {

struct ArchiveLibrary {
  decltype(&::archive_read_new) read_new;
  decltype(&::archive_read_free) read_free;
  decltype(&::archive_read_support_format_all) read_support_format_all;
  decltype(&::archive_read_support_filter_all) read_support_filter_all;
  decltype(&::archive_read_open_filename) read_open_filename;
  decltype(&::archive_read_next_header) read_next_header;
  decltype(&::archive_read_data_block) read_data_block;
  decltype(&::archive_error_string) error_string;
  decltype(&::archive_entry_pathname) entry_pathname;
  decltype(&::archive_entry_hardlink) entry_hardlink;
  decltype(&::archive_entry_symlink) entry_symlink;
  decltype(&::archive_entry_filetype) entry_filetype;
  decltype(&::archive_entry_perm) entry_perm;

  static Result<const ArchiveLibrary*> load();
};

}  // namespace fray::runtime_env
