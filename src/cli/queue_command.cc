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
#include "base/log_line.h"
#include "cli/command.h"
#include "cli/exit_codes.h"
#include "cli/node_endpoint.h"
#include "cli/options.h"
#include "http_client/exchange.h"
#include "model/json_text.h"

namespace fray::cli {

namespace {

using nlohmann::json;

struct QueueArguments {
  std::string verb;
  std::string name;
  NodeOption socket;
  bool json = false;
  bool leased = false;  // purge
};

int queue_failed(const QueueArguments& arguments, const Status& why, int code) {
  log_line("fray queue {}: {}\n", arguments.verb, why.message());
  return code;
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
  auto endpoint = endpoint_of_node(arguments.socket, "and so keeps no queues");
  if (!endpoint.is_ok()) return queue_failed(arguments, endpoint.status(), exit_code_of(endpoint.status().code()));
  bool arrived = false;
  auto answer = http_client::exchange(*endpoint, request_for(arguments), &arrived);
  if (!answer.is_ok()) return queue_failed(arguments, answer.status(), exit_code_of(answer.status().code()));
  const json document = parse_json(answer->body);
  if (answer->status == 200 && document.is_object()) {
    show(arguments, document);
    return kExitOk;
  }
  return queue_failed(arguments, refusal_of(*answer), exit_code_of_http(answer->status));
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
