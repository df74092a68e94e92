// Bodies that ask something of a queue, and what is told of it. Items are any bytes, and travel as base64.
//
// Threading:  any thread.
// Ownership:  values.
// Failure:    kInvalidArgument says which key it was, what was given and what is allowed.
#pragma once

#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/status.h"
#include "queue/queue_values.h"

namespace fray::http {

// The JSON schema of the body of a verb's request, for the OpenAPI document; null where there is none.
nlohmann::json queue_schema(queue::Verb verb);
// An empty body is one without keys.
Result<queue::Request> parse_queue_request(queue::Verb verb, std::string queue, std::string_view body);
nlohmann::json queue_answer_json(queue::Verb verb, const queue::Answer& answer);

}  // namespace fray::http
