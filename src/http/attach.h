// attach(): gives a started node its HTTP API.
//
//   <session folder>/http.token   the token, mode 0600, one line
//                    http.url     where it answers, one line
//
// Threading:  the loop's.
// Ownership:  the object that is returned owns server, routes and files, and must be destroyed before the node and the
//             loop.
// Failure:    kIoError when there is no port, or the files cannot be written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "event/loop.h"
#include "node/node_view.h"

namespace fray::http {

struct Attached {
  std::string url;
  std::string token_file;
  std::shared_ptr<void> parts;
};

// `port` 0: any that is free.
Result<Attached> attach(event::Loop& loop, node::NodeView& node, const std::string& session_folder, std::uint16_t port);

}  // namespace fray::http
