#include "cli/node_endpoint.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/exit_codes.h"
#include "door/find_node.h"
#include "model/json_text.h"
#include "os/files/whole_file.h"

namespace fray::cli {

namespace {

using nlohmann::json;

constexpr http_client::Service kStartedNode{
    .what = "a started node",
    .example = "http://127.0.0.1:40113",
    .token_place = "its http.token",
    .is_it_up = "is it up",
    .is_it_busy = "is it overloaded",
    .is_it_the_port = "is it the right port",
};

}  // namespace

Result<http_client::Endpoint> endpoint_of_node(const NodeOption& socket, const std::string& without) {
  FRAY_ASSIGN_OR_RETURN(door::FoundNode node, door::find_node(socket, door::Others::kLeave));
  const std::string folder = node.socket.substr(0, node.socket.rfind('/'));
  auto url = os::read_file(folder + "/http.url");
  if (!url.is_ok()) {
    return Status(
        StatusCode::kUnavailable,
        fmt::format("the node at {} answers no HTTP, {}; `fray start` starts one that does", node.socket, without));
  }
  const std::string line = url->substr(0, url->find('\n'));
  http_client::Endpoint endpoint;
  endpoint.service = kStartedNode;
  FRAY_ASSIGN_OR_RETURN(endpoint.address, http_client::parse_address(line, kStartedNode));
  endpoint.token.origin = folder + "/http.token";
  FRAY_ASSIGN_OR_RETURN(endpoint.token.value, http_client::read_token_file(endpoint.token.origin));
  return endpoint;
}

Status refusal_of(const http_client::Answer& answer) {
  const json document = parse_json(answer.body);
  const json error = document.is_object() ? document.value("error", json::object()) : json::object();
  return Status(StatusCode::kInternal,
                error.value("message", fmt::format("the node answered {} without words", answer.status)));
}

int exit_code_of_http(unsigned status) {
  if (status == 400) return kExitUsage;
  if (status == 404) return kExitNotFound;
  return status == 401 || status == 403 ? kExitRefused : kExitFailed;
}

}  // namespace fray::cli
