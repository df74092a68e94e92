#include "http/queue_routes.h"

#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

#include "http/queue_documents.h"

namespace fray::http {

namespace {

using queue::Verb;

struct QueueRoute {
  const char* method;
  const char* pattern;
  const char* summary;
  Verb verb;
};

constexpr QueueRoute kQueueRoutes[] = {
    {"GET", "/api/v1/queues", "All queues: how many items wait and are leased", Verb::kList},
    {"GET", "/api/v1/queues/{name}", "One queue", Verb::kShow},
    {"PUT", "/api/v1/queues/{name}", "Make a queue, where there is none of that name", Verb::kMake},
    {"DELETE", "/api/v1/queues/{name}", "Remove a queue with all its items", Verb::kRemove},
    {"POST", "/api/v1/queues/{name}/push", "Add items at the end; answered once they are on the disk", Verb::kPush},
    {"GET", "/api/v1/queues/{name}/peek", "The item that pop would lease", Verb::kPeek},
    {"POST", "/api/v1/queues/{name}/pop", "Lease the oldest items that wait", Verb::kPop},
    {"POST", "/api/v1/queues/{name}/done", "Take the items of leases out for good", Verb::kDone},
    {"POST", "/api/v1/queues/{name}/release", "Let the items of leases wait again", Verb::kRelease},
    {"POST", "/api/v1/queues/{name}/purge", "Remove all items that wait", Verb::kPurge},
};

void answer(Verb verb, const Responder& responder, const Result<queue::Answer>& told) {
  responder.respond(told.is_ok() ? json_response(queue_answer_json(verb, told.value()))
                                 : error_response(told.status()));
}

// A client that has only closed its side of the connection gets an answer without items.
void wait(node::NodeView& node, queue::Request request, const Responder& responder,
          const std::shared_ptr<std::size_t>& waiters) {
  const Verb verb = request.verb;
  ++*waiters;
  const queue::AskId ask = node.ask_queue(std::move(request), [verb, responder, waiters](Result<queue::Answer> told) {
    --*waiters;
    answer(verb, responder, told);
  });
  responder.when_gone([&node, verb, ask, responder, waiters] {
    --*waiters;
    node.withdraw_from_queue(ask);
    answer(verb, responder, queue::Answer{});
  });
}

void ask(node::NodeView& node, Verb verb, const Request& http, const Responder& responder,
         const std::shared_ptr<std::size_t>& waiters) {
  auto request = parse_queue_request(verb, http.captures.empty() ? "" : http.captures[0], http.body);
  if (!request.is_ok()) return responder.respond(error_response(request.status()));
  if (*waiters >= kMostQueueWaiters) request->wait = queue::Moment(0);
  if (request->wait > queue::Moment(0)) return wait(node, std::move(*request), responder, waiters);
  node.ask_queue(std::move(*request), [verb, responder](Result<queue::Answer> told) { answer(verb, responder, told); });
}

}  // namespace

void add_queue_routes(RouteTable& routes, node::NodeView& node) {
  auto waiters = std::make_shared<std::size_t>(0);
  for (const QueueRoute& route : kQueueRoutes) {
    routes.add_json(route.method, route.pattern, route.summary, queue_schema(route.verb),
                    [&node, verb = route.verb, waiters](Request request, const Responder& responder) {
                      ask(node, verb, request, responder, waiters);
                    });
  }
}

}  // namespace fray::http
