// refusal(): turns an HTTP answer that is no success into a Status that says what happened and what to do.
//
//   401                      kPermissionDenied   no token was given
//   403                      kPermissionDenied   a wrong token was given
//   404                      kNotFound           no such job, package or page
//   413                      kResourceExhausted  the package is over the cluster's limit
//   "already exists"         kAlreadyExists      the submission id is taken
//   "non-terminal state"     kInvalidArgument    a job cannot be deleted while it runs
//   other 4xx                kInvalidArgument    with the last line of what Ray said
//   "No available agent", 502, 503, 504          kUnavailable
//   other 5xx                kInternal           Ray failed, with the last line of what it said
//
// Threading:  any thread.
// Ownership:  values.
// Failure:    none. No message contains a token.
#pragma once

#include <string_view>

#include "base/status.h"
#include "ray/endpoint.h"

namespace fray::ray {

// `what` says what the request was for: "submit the job", "read the job X".
Status refusal(const Endpoint& endpoint, std::string_view what, unsigned status, std::string_view body);

// Whether the server has done nothing, and the same request may succeed a moment later.
bool is_worth_repeating(unsigned status, std::string_view body);

}  // namespace fray::ray
