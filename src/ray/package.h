// Package: a folder or an archive in the form in which Ray's clusters take it. Its name is a hash of its content, so
// that a package that the cluster has already is not sent again.
//
//   gcs://_ray_pkg_<32 hex digits of SHA-256>.zip
//
// The archive leaves out .git, .venv, venv and __pycache__, what `excludes` names, and what .gitignore and .rayignore
// name in any folder (with RAY_RUNTIME_ENV_IGNORE_GITIGNORE=1 the files .gitignore do not count). Symbolic links are
// followed. What is neither a file nor a folder is left out.
//
// Threading:  any thread.
// Ownership:  owns an unlinked file with the archive.
// Failure:    kInvalidArgument when there is no such folder or archive, and kIoError, both with the path;
//             kResourceExhausted for more than `most_bytes`, with the largest files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "os/fd.h"

namespace fray::ray {

struct Package {
  std::string name;  // "_ray_pkg_<hash>.zip"
  os::Fd file;
  std::uint64_t bytes = 0;

  std::string uri() const { return "gcs://" + name; }
};

struct PackageRequest {
  std::string path;  // a folder, or an archive: .zip, .tar.gz, .tgz, .tar.xz, .whl
  std::vector<std::string> excludes;
  bool with_parent = false;                             // paths begin with the folder's own name, for py_modules
  std::uint64_t most_bytes = std::uint64_t{100} << 20;  // the most that Ray's dashboard accepts
};

Result<Package> make_package(const PackageRequest& request);

}  // namespace fray::ray
