#include "http/dashboard_routes.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "http/live_stream.h"
#include "http/number_in.h"
#include "model/members.h"

namespace fray::http {

namespace {

using nlohmann::json;
using node::DashboardView;
using node::ListQuery;

constexpr const char* kRoot = "/api/v1/dashboard/";
constexpr std::uint64_t kMostListRows = 1000;
constexpr std::uint64_t kMostTaskRows = 20'000;
constexpr std::uint64_t kUsualTaskRows = 4000;
constexpr std::uint64_t kUsualLines = 200;
constexpr std::uint64_t kMostHistory = 86'400;  // seconds
constexpr std::uint64_t kUsualHistory = 600;
constexpr std::uint64_t kMostFlameSeconds = 60;
constexpr std::uint64_t kUsualFlameSeconds = 5;

void answer_document(const Responder& responder, const Result<json>& document) {
  responder.respond(document.is_ok() ? json_response(document.value()) : error_response(document.status()));
}

Result<ListQuery> list_query(const Request& request) {
  ListQuery query;
  const auto text = [&request](const char* name) {
    auto found = request.query.find(name);
    return found == request.query.end() ? std::string() : found->second;
  };
  query.sort = text("sort");
  query.search = text("search");
  const std::string order = text("order");
  if (!order.empty() && order != "asc" && order != "desc") {
    return Status(StatusCode::kInvalidArgument, "order must be asc or desc");
  }
  query.descending = order != "asc";
  FRAY_ASSIGN_OR_RETURN(query.limit, number_in(request, "limit", kMostListRows, query.limit));
  FRAY_ASSIGN_OR_RETURN(query.after, number_in(request, "after", UINT32_MAX));
  return query;
}

std::vector<Route::Parameter> list_parameters() {
  return {{"sort", "string", "the key to sort by"},
          {"order", "string", "desc (if not given) or asc"},
          {"limit", "integer", "most rows; 200 if not given, 1000 at most"},
          {"after", "integer", "rows to pass over; 0 if not given"},
          {"search", "string", "part of the name, in any case of its letters"}};
}

Result<LiveStream::Topics> topics_in(const Request& request) {
  LiveStream::Topics topics;
  auto found = request.query.find("topics");
  std::string_view rest = found == request.query.end() ? "now" : std::string_view(found->second);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view topic = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (topic == "now") {
      topics.now = true;
    } else if (topic == "tasks") {
      topics.tasks = true;
    } else if (topic == "log") {
      topics.log = true;
    } else {
      return Status(StatusCode::kInvalidArgument, "topics must be of now, tasks, log, with commas between");
    }
  }
  return topics;
}

class DashboardRoutes {
 public:
  DashboardRoutes(RouteTable& routes, DashboardView& dashboard) : routes_(routes), dashboard_(dashboard) {}

  void add(const char* path, const char* summary, std::vector<Route::Parameter> parameters,
           std::function<Result<json>(const Request&)> make) {
    routes_.add({"GET",
                 kRoot + std::string(path),
                 summary,
                 std::move(parameters),
                 {},
                 "application/json",
                 [make = std::move(make)](const Request& request, const Responder& responder) {
                   answer_document(responder, make(request));
                 }});
  }

  void add_list(const char* path, const char* summary, Result<json> (DashboardView::*list)(const ListQuery& query)) {
    add(path, summary, list_parameters(), [this_dashboard = &dashboard_, list](const Request& request) -> Result<json> {
      FRAY_ASSIGN_OR_RETURN(const ListQuery query, list_query(request));
      return (this_dashboard->*list)(query);
    });
  }

  void add_all() {
    DashboardView& dashboard = dashboard_;
    add("session", "Which node this is", {}, [&dashboard](const Request&) { return dashboard.session(); });
    add("now", "What the node does, what waits, and why",
        {{"history", "integer", "seconds of history to add; none if not given"}},
        [&dashboard](const Request& request) -> Result<json> {
          FRAY_ASSIGN_OR_RETURN(const std::uint64_t seconds, number_in(request, "history", kMostHistory));
          json document = dashboard.now();
          if (seconds > 0) document["history"] = dashboard.history(static_cast<double>(seconds));
          return document;
        });
    add("history", "What the node measured while somebody looked",
        {{"seconds", "integer", "how far back; 600 if not given, a day at most"}},
        [&dashboard](const Request& request) -> Result<json> {
          FRAY_ASSIGN_OR_RETURN(const std::uint64_t seconds,
                                number_in(request, "seconds", kMostHistory, kUsualHistory));
          return dashboard.history(static_cast<double>(seconds));
        });
    add("tasks", "The task stream: what ended, and what runs",
        {{"after", "integer", "next of an answer before; 0 if not given"},
         {"limit", "integer", "most rows, the newest; 4000 if not given, 20000 at most"}},
        [&dashboard](const Request& request) -> Result<json> {
          FRAY_ASSIGN_OR_RETURN(const std::uint64_t after, number_in(request, "after", UINT64_MAX));
          FRAY_ASSIGN_OR_RETURN(const std::uint64_t limit, number_in(request, "limit", kMostTaskRows, kUsualTaskRows));
          return dashboard.tasks(after, limit);
        });
    add("tasks/{task}", "One task, such as 1-42", {},
        [&dashboard](const Request& request) { return dashboard.task(request.captures[0]); });
    add_list("functions", "Functions: counts, rates, times", &DashboardView::functions);
    add_list("actors", "Actors", &DashboardView::actors);
    add_list("objects", "Objects that several processes know of", &DashboardView::objects);
    add_list("workers", "Workers, and all drivers", &DashboardView::workers);
    add("log", "The last lines of the node's log", {{"limit", "integer", "most lines; 200 if not given, 2000 at most"}},
        [&dashboard](const Request& request) -> Result<json> {
          FRAY_ASSIGN_OR_RETURN(const std::uint64_t limit,
                                number_in(request, "limit", DashboardView::kMostLines, kUsualLines));
          std::uint64_t end = 0;
          return dashboard.log(limit, &end);
        });
  }

  void add_stack() {
    DashboardView& dashboard = dashboard_;
    add_process("stack", "The stack of a worker or driver, as `fray stack` has it", {},
                [&dashboard](const Request&, std::int32_t pid, const Responder& responder) {
                  dashboard.stack(pid,
                                  [responder](const Result<json>& document) { answer_document(responder, document); });
                });
    add_process("flame", "Where a worker or driver spends its CPU time, as a flame graph",
                {{"seconds", "integer", "for how long it is watched; 5 if not given, 60 at most"}},
                [&dashboard](const Request& request, std::int32_t pid, const Responder& responder) {
                  auto seconds = number_in(request, "seconds", kMostFlameSeconds, kUsualFlameSeconds);
                  if (seconds.is_ok() && *seconds == 0) seconds = wrong("seconds must be 1 to 60");
                  if (!seconds.is_ok()) return responder.respond(error_response(seconds.status()));
                  dashboard.flame(pid, *seconds,
                                  [responder](const Result<json>& document) { answer_document(responder, document); });
                });
  }

  // Adds a question about one process; the pid is 0 where the address has none.
  void add_process(const char* what, const char* summary, std::vector<Route::Parameter> parameters,
                   std::function<void(const Request&, std::int32_t pid, const Responder&)> ask) {
    routes_.add({"GET",
                 kRoot + std::string("workers/{pid}/") + what,
                 summary,
                 std::move(parameters),
                 {},
                 "application/json",
                 [ask = std::move(ask)](const Request& request, const Responder& responder) {
                   const std::string& text = request.captures[0];
                   std::int32_t pid = 0;
                   auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
                   if (error != std::errc() || end != text.data() + text.size()) pid = 0;
                   ask(request, pid, responder);
                 }});
  }

  void add_live() {
    routes_.add({"GET",
                 kRoot + std::string("live"),
                 "What changes, as server-sent events; while it is open, somebody looks",
                 {{"topics", "string", "of now, tasks, log, with commas between; now if not given"},
                  {"after", "integer", "next of an answer about tasks; a Last-Event-ID comes before it"}},
                 {},
                 "text/event-stream",
                 [&dashboard = dashboard_, open = std::make_shared<std::size_t>(0)](const Request& request,
                                                                                    const Responder& responder) {
                   auto topics = topics_in(request);
                   if (!topics.is_ok()) return responder.respond(error_response(topics.status()));
                   if (*open >= kMostLiveStreams) {
                     return responder.respond(error_response(
                         503, "unavailable", fmt::format("{} pages look already; close some", kMostLiveStreams)));
                   }
                   auto given = number_in(request, "after", UINT64_MAX);
                   if (!given.is_ok()) return responder.respond(error_response(given.status()));
                   std::optional<std::uint64_t> after;
                   if (request.query.contains("after")) after = *given;
                   const std::string_view last = request.header("last-event-id");
                   std::uint64_t number = 0;
                   if (std::from_chars(last.data(), last.data() + last.size(), number).ec == std::errc())
                     after = number;
                   responder.stream({200, "text/event-stream", "", {}},
                                    std::make_shared<LiveStream>(dashboard, *topics, after, open));
                 }});
  }

 private:
  RouteTable& routes_;
  DashboardView& dashboard_;
};

// The body of a request for a link.
struct LinkOrder {
  bool framed = false;
  std::string view;
};

// A view stands in the address as it is, behind "/dashboard/".
bool is_view(std::string_view text) {
  const auto may_be = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("-._~%/?=&+:@").find(static_cast<char>(c)) != std::string_view::npos;
  };
  return text.size() <= 2000 && !text.starts_with('/') && text.find("..") == std::string_view::npos &&
         std::all_of(text.begin(), text.end(), may_be);
}

Result<LinkOrder> link_order(std::string_view body) {
  FRAY_ASSIGN_OR_RETURN(Members members, Members::parse(body.empty() ? "{}" : body));
  LinkOrder order;
  const json framed = members.take("framed");
  if (!framed.is_null() && !framed.is_boolean()) return wrong_type("framed", "true or false", framed);
  order.framed = framed.is_boolean() && framed.get<bool>();
  FRAY_RETURN_IF_ERROR(members.text("view", &order.view));
  if (!is_view(order.view)) return wrong("view must be what stands behind /dashboard/ in an address of the page");
  FRAY_RETURN_IF_ERROR(members.end());
  return order;
}

void add_login(RouteTable& routes, Sessions& sessions) {
  const json schema = {
      {"type", "object"},
      {"properties",
       {{"framed", {{"type", "boolean"}, {"description", "whether pages of this machine may show it in a frame"}}},
        {"view",
         {{"type", "string"}, {"description", "where it leads, such as jobs/train; the first view if not given"}}}}}};
  routes.add_json("POST", "/api/v1/dashboard/login-links", "Make a link that logs a browser in, once", schema,
                  [&sessions](const Request& request, const Responder& responder) {
                    Result<LinkOrder> order = link_order(request.body);
                    if (!order.is_ok()) return responder.respond(error_response(order.status()));
                    auto code = sessions.make_code(order->framed, order->view, std::chrono::steady_clock::now());
                    if (!code.is_ok()) return responder.respond(error_response(code.status()));
                    // Most notebooks are opened as localhost, and a frame of another host would have no cookie.
                    responder.respond(json_response(
                        {{"url", fmt::format("http://{}:{}/dashboard/login?code={}",
                                             order->framed ? "localhost" : "127.0.0.1", sessions.port(), *code)},
                         {"expires_seconds", Sessions::kCodeLimit.count()}}));
                  });
  Route login{"GET",
              "/dashboard/login",
              "Log a browser in with a link, and go to the page",
              {{"code", "string", "of the link"}},
              {},
              "text/html",
              [&sessions](const Request& request, const Responder& responder) {
                auto code = request.query.find("code");
                auto logged_in =
                    sessions.log_in(code == request.query.end() ? "" : code->second, std::chrono::steady_clock::now());
                if (!logged_in.is_ok()) {
                  return responder.respond(sentence_page(
                      403, logged_in.status().message() + " Run <code>fray dashboard</code> for a new one."));
                }
                Response answer = redirect("/dashboard/" + logged_in->view);
                answer.headers["Set-Cookie"] = logged_in->cookie;
                responder.respond(answer);
              }};
  login.access = Access::kAnybody;
  routes.add(std::move(login));
}

void add_page(RouteTable& routes, Sessions& sessions, PageFiles files) {
  const auto add = [&routes](const char* pattern, const char* summary, decltype(Route::handler) handler) {
    Route route{"GET", pattern, summary, {}, {}, "text/html", std::move(handler)};
    route.access = Access::kAnybody;
    routes.add(std::move(route));
  };
  add("/", "To the dashboard",
      [](const Request&, const Responder& responder) { responder.respond(redirect("/dashboard/")); });
  add("/dashboard/assets/{path*}", "A file of the dashboard's page",
      [files](const Request& request, const Responder& responder) { responder.respond(files.asset(request)); });
  add("/dashboard/{path*}", "The dashboard's page",
      [files, &sessions](const Request& request, const Responder& responder) {
        const Sessions::Session* session = sessions.visit(request.header("cookie")).session;
        responder.respond(files.page(session != nullptr && session->framed));
      });
}

}  // namespace

void add_dashboard_routes(RouteTable& routes, node::NodeView& node, Sessions& sessions, PageFiles files) {
  DashboardRoutes documents(routes, node.dashboard());
  documents.add_live();
  documents.add_all();
  documents.add_stack();
  add_login(routes, sessions);
  add_page(routes, sessions, std::move(files));
}

}  // namespace fray::http
