// endpoint_of_node(): where the HTTP API of a started node answers, and with which token, from the files beside its socket.
//
// Threading:  any thread.
// Ownership:  values.
// Failure:    as door::find_node(); kUnavailable for a node that answers no HTTP, with `without` as what it lacks.
#pragma once

#include <string>

#include "cli/node_session.h"
#include "http_client/exchange.h"

namespace fray::cli {

Result<http_client::Endpoint> endpoint_of_node(const NodeOption& socket, const std::string& without);
// The words of an answer that is no success.
Status refusal_of(const http_client::Answer& answer);
int exit_code_of_http(unsigned status);

}  // namespace fray::cli
