// PackageStore: the archives that clients upload before they submit a job, each a file in the home's folder `packages`.
//
//   auto draft = store.begin("gcs", "_ray_pkg_0123456789abcdef.zip");   // a BodySink: bytes as they come
//   (*draft)->finish();                                                 // checked, and there
//
// A name that contains the SHA-1 or SHA-256 of the archive is checked against its bytes. The shorter names that Ray
// gives to folders are hashes of the files and not of the archive, and cannot be checked. There the first upload stays:
// a client that finds a package of that name sends none.
//
// Threading:  one thread.
// Ownership:  the files outlive it; a draft that is not finished is removed.
// Failure:    kInvalidArgument for an unknown protocol, an impossible name, and bytes that do not have the hash in the
//             name;
//             kResourceExhausted when the disk is full: nothing is left behind.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "http/body_sink.h"

namespace fray::http {

class PackageStore {
 public:
  class Draft : public BodySink {
   public:
    virtual Status finish() = 0;
  };

  // `folder` is made when the first package comes.
  explicit PackageStore(std::string folder) : folder_(std::move(folder)) {}

  static Status check_name(const std::string& protocol, const std::string& name);
  // One that is asked for stays for another while.
  bool has(const std::string& protocol, const std::string& name) const;
  Result<std::shared_ptr<Draft>> begin(const std::string& protocol, const std::string& name);
  // The archive of a URI such as gcs://_ray_pkg_0123456789abcdef.zip. kNotFound: it was never sent, or is gone.
  Result<std::string> path_of(const std::string& uri) const;

 private:
  Status make_folder();
  // Removes packages that nobody asked for in a week, and the oldest beyond 10 GiB.
  void prune() const;

  std::string folder_;
};

}  // namespace fray::http
