// exchange(): one HTTP request to a server and its whole answer, on a connection of its own.
//
// Threading:  any thread; blocks for Endpoint's limits at most. Resolving a host's name takes as long as the system
// lets it. Ownership:  the connection lives within the call; a body's file stays the caller's. Failure: kUnavailable:
// refused, cut, or no answer that is HTTP; kTimedOut; kResourceExhausted: the answer is larger than
//             the limit; kCancelled: interrupted; kPermissionDenied: the certificate is not trusted. An answer of any
//             status is a success here. `*arrived` says whether the other side may have got the whole request.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "http_client/answer_reader.h"
#include "http_client/endpoint.h"

namespace fray::http_client {

struct Request {
  std::string method;
  std::string path;  // percent-encoded, after the address's prefix
  std::string body;
  int file = -1;  // instead of `body`: its first `file_bytes`
  std::uint64_t file_bytes = 0;
  std::string type = "application/json";  // of the body; of a file application/octet-stream
  std::string headers;                    // further lines, each with its end
};

Result<Answer> exchange(const Endpoint& endpoint, const Request& request, bool* arrived);

// The first lines of a request: the request line, the host and the token. The caller adds further lines and an empty
// one.
std::string request_head(const Endpoint& endpoint, std::string_view method, std::string_view path);

// `text` as one segment of a path.
std::string path_segment(std::string_view text);

}  // namespace fray::http_client
