// attach(): gives a started node its HTTP API.
//
//   <session folder>/http.token   the token, mode 0600, one line
//                    http.url     where it answers, one line
//
// Threading:  the loop's.
// Ownership:  what is returned owns server, routes, links and files, and must go before the loop.
// Failure:    kIoError when there is no port, or the files cannot be written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "event/loop.h"

namespace fray::http {

struct Attached {
  std::string url;
  std::string token_file;
  std::shared_ptr<void> parts;
};

// `port` 0: any that is free. The node listens at `socket` already.
Result<Attached> attach(event::Loop& loop, const std::string& session_folder, const std::string& socket,
                        std::uint16_t port);

}  // namespace fray::http
