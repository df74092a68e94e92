#include "http/route_table.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/join.h"

namespace fray::http {

namespace {

using nlohmann::json;

bool is_capture(std::string_view segment) { return segment.size() > 2 && segment.front() == '{'; }

bool is_tail(std::string_view segment) { return is_capture(segment) && segment[segment.size() - 2] == '*'; }

std::vector<std::string_view> segments_of(std::string_view pattern) {
  std::vector<std::string_view> segments;
  while (!pattern.empty()) {
    pattern.remove_prefix(1);  // the slash
    const std::size_t end = std::min(pattern.find('/'), pattern.size());
    if (end > 0) segments.push_back(pattern.substr(0, end));
    pattern.remove_prefix(end);
  }
  return segments;
}

json parameters_of(const Route& route) {
  json parameters = json::array();
  for (std::string_view segment : segments_of(route.pattern)) {
    if (!is_capture(segment)) continue;
    parameters.push_back({{"name", segment.substr(1, segment.size() - (is_tail(segment) ? 3 : 2))},
                          {"in", "path"},
                          {"required", true},
                          {"schema", {{"type", "string"}}}});
  }
  for (const Route::Parameter& parameter : route.query) {
    parameters.push_back({{"name", parameter.name},
                          {"in", "query"},
                          {"description", parameter.description},
                          {"schema", {{"type", parameter.type}}}});
  }
  return parameters;
}

json refusal(const char* description) {
  return {{"description", description},
          {"content", {{"application/json", {{"schema", {{"$ref", "#/components/schemas/Error"}}}}}}}};
}

json operation_of(const Route& route) {
  json answer = {{"description", "the answer"}};
  if (!route.answers.empty()) answer["content"][route.answers] = json::object();
  json operation = {{"summary", route.summary},
                    {"parameters", parameters_of(route)},
                    {"responses",
                     {{route.answers.empty() ? "101" : "200", answer},
                      {"400", refusal("a request that cannot be")},
                      {"401", refusal("no token")},
                      {"403", refusal("a wrong token, or another site's page")},
                      {"404", refusal("nothing of that name")},
                      {"421", refusal("another host's name")}}}};
  if (route.access == Access::kAnybody) operation["security"] = json::array();
  if (route.access == Access::kSession)
    operation["security"] = {{{"token", json::array()}}, {{"session", json::array()}}};
  if (route.sink) {
    operation["requestBody"] = {{"required", true}, {"content", {{"application/octet-stream", json::object()}}}};
  }
  if (!route.body.is_null()) {
    operation["requestBody"] = {{"required", true}, {"content", {{"application/json", {{"schema", route.body}}}}}};
  }
  return operation;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace

bool matches(const std::string& pattern, const std::vector<std::string>& path, std::vector<std::string>* captures) {
  const std::vector<std::string_view> segments = segments_of(pattern);
  const bool has_tail = !segments.empty() && is_tail(segments.back());
  const std::size_t fixed = segments.size() - (has_tail ? 1 : 0);
  if (has_tail ? path.size() < fixed : path.size() != fixed) return false;
  captures->clear();
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (i >= fixed || is_capture(segments[i])) {
      captures->push_back(path[i]);
    } else if (segments[i] != path[i]) {
      return false;
    }
  }
  return true;
}

void RouteTable::add(Route route) { routes_.push_back(std::move(route)); }

void RouteTable::handle(Request request, const Responder& responder) const {
  std::vector<std::string> methods;
  for (const Route& route : routes_) {
    if (!matches(route.pattern, request.path, &request.captures)) continue;
    if (route.method == request.method) return route.handler(std::move(request), responder);
    methods.push_back(route.method);
  }
  if (methods.empty()) {
    return responder.respond(error_response(404, "not found", "no such path; GET /api/v1/openapi.json lists them"));
  }
  Response refused = error_response(405, "wrong method", fmt::format("this path answers {}", fmt::join(methods, ", ")));
  refused.headers["Allow"] = fmt::format("{}", fmt::join(methods, ", "));
  responder.respond(refused);
}

Access RouteTable::access_of(const Request& request) const {
  std::vector<std::string> captures;
  for (const Route& route : routes_) {
    if (route.method == request.method && matches(route.pattern, request.path, &captures)) return route.access;
  }
  return Access::kSession;
}

void RouteTable::admit_sessions(const std::function<bool(const Route& route)>& choose) {
  for (Route& route : routes_) {
    if (choose(route)) route.access = Access::kSession;
  }
}

Result<std::shared_ptr<BodySink>> RouteTable::sink_of(Request request) const {
  for (const Route& route : routes_) {
    if (!route.sink || route.method != request.method) continue;
    if (matches(route.pattern, request.path, &request.captures)) return route.sink(request);
  }
  return std::shared_ptr<BodySink>();
}

json RouteTable::document(const std::string& release) const {
  json paths = json::object();
  for (const Route& route : routes_) paths[route.pattern][lower(route.method)] = operation_of(route);
  const json error = {
      {"type", "object"},
      {"properties",
       {{"error",
         {{"type", "object"}, {"properties", {{"code", {{"type", "string"}}}, {"message", {{"type", "string"}}}}}}}}}};
  return {{"openapi", "3.1.0"},
          {"info", {{"title", "Fray"}, {"version", release}}},
          {"paths", paths},
          {"security", json::array({{{"token", json::array()}}})},
          {"components",
           {{"securitySchemes",
             {{"token", {{"type", "http"}, {"scheme", "bearer"}}},
              {"session", {{"type", "apiKey"}, {"in", "cookie"}, {"name", "fray_PORT"}}}}},
            {"schemas", {{"Error", error}}}}}};
}

}  // namespace fray::http
