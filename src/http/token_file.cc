#include "http/token_file.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "http/secret.h"
#include "os/fd.h"

namespace fray::http {

Result<TokenFile> TokenFile::create(const std::string& path) {
  FRAY_ASSIGN_OR_RETURN(std::string token, draw_secret());
  ::unlink(path.c_str());
  os::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  const std::string line = token + "\n";
  if (!file.is_open() || ::write(file.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    return Status::io_error("cannot write the token to " + path, errno);
  }
  return TokenFile(path, std::move(token));
}

}  // namespace fray::http
