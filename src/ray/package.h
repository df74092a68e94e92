// Package: a folder or an archive as Ray's clusters take it, named after its content, so that what a cluster has is not
// sent again.
//
//   gcs://_ray_pkg_<32 hex digits of SHA-256>.zip
//
// Left out are .git, .venv, venv, __pycache__, what `excludes` says, and what .gitignore and .rayignore say in any folder
// (.gitignore not with RAY_RUNTIME_ENV_IGNORE_GITIGNORE=1). Links are followed; what is neither file nor folder is left out.
//
// Threading:  any thread.
// Ownership:  owns an unlinked file with the archive.
// Failure:    kInvalidArgument (no such folder or archive), kIoError name the path; kResourceExhausted beyond `most_bytes` names the largest files.
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
  bool with_parent = false;                             // names in it begin with the folder's own, as modules want it
  std::uint64_t most_bytes = std::uint64_t{100} << 20;  // what Ray's dashboard takes
};

Result<Package> make_package(const PackageRequest& request);

}  // namespace fray::ray
