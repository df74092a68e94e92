// refusal(): turns an answer that is no success into a Status that says what happened and what to do.
//
// A controller describes a refusal in JSON, {"code": ..., "message": ...}, with any HTTP status. Proxies, tunnels and
// login pages before the controller answer in other forms.
//
//   unauthenticated, permission_denied   kPermissionDenied
//   not_found                            kNotFound
//   already_exists                       kAlreadyExists
//   invalid_argument, failed_precondition kInvalidArgument
//   unavailable, resource_exhausted, 429, 502, 503   kUnavailable
//   deadline_exceeded, 504               kTimedOut
//   unimplemented                        kVersionMismatch
//   others                               kInternal
//   an answer of something else          kUnavailable
//
// Threading:  any thread.
// Ownership:  values.
// Failure:    none. No message contains a token.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "http_client/answer_reader.h"
#include "iris/endpoint.h"

namespace fray::iris {

struct Refusal {
  std::string code;  // of the Connect protocol; empty when it was no controller that answered
  Status status;
  bool is_passing = false;    // the same request may succeed a moment later
  bool has_answered = false;  // something has answered, be it a controller or not
};

// `what` says what the request was for: "launch the job X", "show the job X".
Refusal refusal(const Endpoint& endpoint, std::string_view what, const http_client::Answer& answer);

// Whether an answer is a success.
bool is_success(const http_client::Answer& answer);

// "; it expired on ..." for a token that says when it expires, when that time has passed; otherwise an empty text.
std::string expiry_note(const std::string& token);

}  // namespace fray::iris
