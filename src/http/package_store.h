// PackageStore: what clients upload before they submit a job: archives, each a file of the home's folder `packages`.
//
//   auto draft = store.begin("gcs", "_ray_pkg_0123456789abcdef.zip");   // a BodySink: bytes as they come
//   (*draft)->finish();                                                 // checked, and there
//
// A name that holds the SHA-1 or SHA-256 of the archive is checked against its bytes. The shorter names that Ray gives to
// folders are made of the files, not of the archive; there the first upload stays, for who finds a package sends none.
//
// Threading:  one thread.
// Ownership:  the files outlive it; a draft that is not finished is removed.
// Failure:    kInvalidArgument for protocols and names that are none, and for bytes that are not the name's;
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
  // Those that nobody asked for in a week, and the oldest beyond 10 GiB.
  void prune() const;

  std::string folder_;
};

}  // namespace fray::http
