// `fray queue`: shows and empties the queues that a started node keeps.
//
//   fray queue list               lists them
//   fray queue show NAME          shows one of them
//   fray queue purge NAME         removes its waiting items; with --leased all of its items
//
// The command uses HTTP, as every other client of queues does. It finds address and token in files beside the node's
// socket.
#include <chrono>
#include <ctime>
#include <memory>
#include <string>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/amount_text.h"
#include "cli/command.h"
#include "cli/exit_codes.h"
#include "cli/node_session.h"
#include "cli/options.h"
#include "door/find_node.h"
#include "http_client/exchange.h"
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

struct QueueArguments {
  std::string verb;
  std::string name;
  NodeOption socket;
  bool json = false;
  bool leased = false;  // purge
};

int queue_failed(const QueueArguments& arguments, const Status& why, int code) {
  fmt::print(stderr, "fray queue {}: {}\n", arguments.verb, why.message());
  return code;
}

// The node's address and token, from the files beside its socket.
Result<http_client::Endpoint> endpoint_of(const NodeOption& socket) {
  FRAY_ASSIGN_OR_RETURN(door::FoundNode node, door::find_node(socket, door::Others::kLeave));
  const std::string folder = node.socket.substr(0, node.socket.rfind('/'));
  auto url = os::read_file(folder + "/http.url");
  if (!url.is_ok()) {
    return Status(
        StatusCode::kUnavailable,
        fmt::format("the node at {} answers no HTTP, and so keeps no queues; `fray start` starts one that does",
                    node.socket));
  }
  const std::string line = url->substr(0, url->find('\n'));
  http_client::Endpoint endpoint;
  endpoint.service = kStartedNode;
  FRAY_ASSIGN_OR_RETURN(endpoint.address, http_client::parse_address(line, kStartedNode));
  endpoint.token.origin = folder + "/http.token";
  FRAY_ASSIGN_OR_RETURN(endpoint.token.value, http_client::read_token_file(endpoint.token.origin));
  return endpoint;
}

http_client::Request request_for(const QueueArguments& arguments) {
  http_client::Request request;
  request.method = arguments.verb == "purge" ? "POST" : "GET";
  request.path = "/api/v1/queues";
  if (arguments.verb != "list") request.path += "/" + http_client::path_segment(arguments.name);
  if (arguments.verb == "purge") {
    request.path += "/purge";
    request.body = json_text(json{{"leased", arguments.leased}});
  }
  return request;
}

int exit_code_of_http(unsigned status) {
  if (status == 400) return kExitUsage;
  if (status == 404) return kExitNotFound;
  return status == 401 || status == 403 ? kExitRefused : kExitFailed;
}

std::string made_at(const json& queue) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(queue.value("made_at", 0.0))));
}

void show_list(const json& queues) {
  fmt::print("{:<32} {:>10} {:>10} {:>10} {:>8}  {}\n", "NAME", "WAITING", "LEASED", "SIZE", "WAITERS", "MADE");
  for (const json& queue : queues) {
    fmt::print("{:<32} {:>10} {:>10} {:>10} {:>8}  {}\n", queue.value("name", ""), queue.value("waiting", 0ull),
               queue.value("leased", 0ull), bytes_text(queue.value("bytes", std::uint64_t{0})),
               queue.value("waiters", 0ull), made_at(queue));
  }
}

void show(const QueueArguments& arguments, const json& document) {
  if (arguments.json) {
    fmt::print("{}\n", json_text(document, 2));
  } else if (arguments.verb == "list") {
    show_list(document.value("queues", json::array()));
  } else if (arguments.verb == "purge") {
    fmt::print("removed {} items of the queue {}\n", document.value("purged", 0ull), arguments.name);
  } else {
    fmt::print("name     {}\nwaiting  {}\nleased   {}\nsize     {}\nwaiters  {}\nmade     {}\n",
               document.value("name", ""), document.value("waiting", 0ull), document.value("leased", 0ull),
               bytes_text(document.value("bytes", std::uint64_t{0})), document.value("waiters", 0ull),
               made_at(document));
  }
}

int run_queue(const QueueArguments& arguments) {
  if (arguments.verb != "list" && (arguments.name.empty() || arguments.name.find('/') != std::string::npos)) {
    return queue_failed(arguments, Status(StatusCode::kInvalidArgument, "a queue's name is not empty and has no slash"),
                        kExitUsage);
  }
  auto endpoint = endpoint_of(arguments.socket);
  if (!endpoint.is_ok()) return queue_failed(arguments, endpoint.status(), exit_code_of(endpoint.status().code()));
  bool arrived = false;
  auto answer = http_client::exchange(*endpoint, request_for(arguments), &arrived);
  if (!answer.is_ok()) return queue_failed(arguments, answer.status(), exit_code_of(answer.status().code()));
  const json document = parse_json(answer->body);
  if (answer->status == 200 && document.is_object()) {
    show(arguments, document);
    return kExitOk;
  }
  const json error = document.is_object() ? document.value("error", json::object()) : json::object();
  const Status why(StatusCode::kInternal,
                   error.value("message", fmt::format("the node answered {} without words", answer->status)));
  return queue_failed(arguments, why, exit_code_of_http(answer->status));
}

Command::Run add_queue(CLI::App& command) {
  auto arguments = std::make_shared<QueueArguments>();
  command.require_subcommand(1);
  auto add = [&](const char* verb, const char* text) {
    CLI::App* added = command.add_subcommand(verb, text);
    added->callback([arguments, verb] { arguments->verb = verb; });
    added->add_flag("--json", arguments->json, "One JSON document");
    add_node_option(*added, arguments->socket, false);
    return added;
  };
  add("list", "The queues that the node keeps");
  add("show", "One queue: how many items wait and are leased")
      ->add_option("NAME", arguments->name, "The queue")
      ->required();
  CLI::App* purge = add("purge", "Remove the items of a queue that wait");
  purge->add_option("NAME", arguments->name, "The queue")->required();
  purge->add_flag("--leased", arguments->leased,
                  "Items that are leased, too; their holders are told with their next word");
  return [arguments] { return run_queue(*arguments); };
}

const Command kQueue("queue", "The queues that a started node keeps", add_queue);

}  // namespace

}  // namespace fray::cli
