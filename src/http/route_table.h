// RouteTable: the handler of each method and path, with its description for the OpenAPI document. The document and the
// tests read the same table that answers requests, so none of the three can know a route that the others do not know.
//
// Threading:  the loop's.
// Ownership:  owns the routes. Objects that handlers refer to must outlive it.
// Failure:    an unknown path is 404, a known one with another method 405; both name what there is.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "http/connection.h"
#include "http/message.h"

namespace fray::http {

struct Route {
  struct Parameter {
    std::string name;
    std::string type;  // of JSON schema
    std::string description;
  };

  std::string method;
  std::string pattern;  // "/api/v1/jobs/{id}"; "/dashboard/{path*}" is that and every path below
  std::string summary;
  std::vector<Parameter> query;
  nlohmann::json body;  // schema of the request's; null: none
  std::string answers = "application/json";
  std::function<void(Request request, const Responder& responder)> handler;
  // Uploads only: returns what takes the body of a request, whose captures are set.
  std::function<Result<std::shared_ptr<BodySink>>(const Request& request)> sink = {};
  Access access = Access::kToken;
};

class RouteTable {
 public:
  void add(Route route);
  // One without parameters, that answers with JSON; `body`: the schema of what it takes.
  void add_json(const char* method, const char* pattern, const char* summary, nlohmann::json body,
                decltype(Route::handler) handler) {
    add({method, pattern, summary, {}, std::move(body), "application/json", std::move(handler)});
  }
  void handle(Request request, const Responder& responder) const;
  // Whom the route of this request answers; those who have logged in are told that there is none.
  Access access_of(const Request& request) const;
  // Lets those who have logged in ask for the routes that are chosen.
  void admit_sessions(const std::function<bool(const Route& route)>& choose);
  // Null for routes that have their bodies in memory, and where there is none.
  Result<std::shared_ptr<BodySink>> sink_of(Request request) const;
  const std::vector<Route>& routes() const { return routes_; }
  // OpenAPI 3.1.
  nlohmann::json document(const std::string& release) const;

 private:
  std::vector<Route> routes_;
};

// Whether the path fits; fills `captures` with what stands for the braces. A tail is captured segment by segment.
bool matches(const std::string& pattern, const std::vector<std::string>& path, std::vector<std::string>* captures);

}  // namespace fray::http
