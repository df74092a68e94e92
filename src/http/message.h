// Request and Response: HTTP messages as handlers see them.
//
// Threading:  values.
// Ownership:  own their strings.
// Failure:    none.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/status.h"
#include "http/body_sink.h"

namespace fray::http {

// Whom a path answers.
enum class Access : std::uint8_t {
  kToken,    // whoever has the token
  kSession,  // also whoever has logged in (http/sessions.h)
  kAnybody,  // who need not say who they are: nothing of this node is told
};

struct Request {
  std::string method;
  std::vector<std::string> path;  // decoded segments; a slash at the end means nothing
  std::map<std::string, std::string> query;
  std::map<std::string, std::string, std::less<>>
      headers;  // names in lower case; the values of repeated ones with commas
  std::string body;

  std::string_view header(std::string_view name) const;
  // Raw bytes of a package: more than other bodies may have, and not kept in memory.
  bool is_upload() const { return method == "PUT" && path.size() > 1 && path[0] == "api" && path[1] == "packages"; }
  std::shared_ptr<BodySink> sink;  // that has the body instead of `body`; else null
  // What stands for the braces of the path pattern, by place.
  std::vector<std::string> captures;
};

struct Response {
  unsigned status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::map<std::string, std::string> headers;  // further ones
};

Response json_response(const nlohmann::json& document, unsigned status = 200);
// {"error": {"code": "not found", "message": ...}}
Response error_response(unsigned status, std::string_view code, std::string_view message);
Response error_response(const Status& status);

// An HTML page of one sentence, for people who follow a link.
Response sentence_page(unsigned status, std::string_view sentence);
// To another path of this server.
Response redirect(std::string path);

// The status line and headers; without a length when the body is a stream.
std::string response_head(const Response& response, bool keep_alive, bool with_length);
std::string_view reason_phrase(unsigned status);

// "%2f" as "/". Empty when it is no percent encoding, or has control characters.
std::string percent_decoded(std::string_view text, bool* good);
// The target of a request line; false when it is none.
bool parse_target(std::string_view target, Request* request);

}  // namespace fray::http
