// refusal(): what an answer that is no success means, as a Status that says what to do.
//
// A controller says what it refuses in JSON, {"code": ..., "message": ...}, whatever the HTTP status; what stands before it
// (proxies, tunnels, login pages) says it otherwise.
//
//   unauthenticated, permission_denied   kPermissionDenied
//   not_found                            kNotFound
//   already_exists                       kAlreadyExists
//   invalid_argument, failed_precondition kInvalidArgument
//   unavailable, resource_exhausted, 429, 502, 503   kUnavailable
//   deadline_exceeded, 504               kTimedOut
//   unimplemented                        kVersionMismatch
//   others                               kInternal
//   no answer of a controller            kUnavailable
//
// Threading:  any thread.
// Ownership:  values.
// Failure:    none. No token is in a message.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "http_client/answer_reader.h"
#include "iris/endpoint.h"

namespace fray::iris {

struct Refusal {
  std::string code;  // of the Connect protocol; empty where the answer is none of a controller
  Status status;
  bool is_passing = false;    // the same question may have another answer a moment later
  bool has_answered = false;  // something did, whatever it is
};

// `what` was asked: "launch the job X", "show the job X".
Refusal refusal(const Endpoint& endpoint, std::string_view what, const http_client::Answer& answer);

// Whether an answer holds what was asked for.
bool is_success(const http_client::Answer& answer);

// "; it expired on ...", where a token says when it expires and that has passed.
std::string expiry_note(const std::string& token);

}  // namespace fray::iris
