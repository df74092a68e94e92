// receive_answer(): reads the answer to a request from a connection.
//
// Threading:  any thread; blocks for the connection's limit of the step at most.
// Ownership:  the answer owns its bytes.
// Failure:    as the connection; kUnavailable for an answer that is not HTTP, kResourceExhausted for one that is
//             larger than the endpoint's limit.
#pragma once

#include <string>

#include "base/status.h"
#include "http_client/connection.h"

namespace fray::http_client {

struct Answer {
  unsigned status = 0;
  std::string content_type;
  std::string websocket_accept;  // of an upgrade
  std::string body;
};

// `has_body` is false for the answer to HEAD. What came after it, as of an upgrade, lands in `*rest` unless that is
// null.
Result<Answer> receive_answer(Connection& connection, bool has_body, std::string* rest);

}  // namespace fray::http_client
