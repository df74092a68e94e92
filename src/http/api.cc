#include "http/api.h"

#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "http/dashboard_routes.h"
#include "http/job_documents.h"
#include "http/job_source.h"
#include "http/log_stream.h"
#include "http/metrics.h"
#include "http/number_in.h"
#include "http/queue_routes.h"
#include "model/job_json.h"
#include "model/json_text.h"
#include "model/members.h"
#include "websocket/frames.h"

namespace fray::http {

namespace {

using nlohmann::json;

// The release of Ray whose protocol is spoken, and its version of the job API, as Ray's clients are told.
constexpr const char* kRayRelease = "2.60.0";
constexpr const char* kRayApi = "4";
constexpr std::uint64_t kMostTailLines = 1'000'000;
constexpr std::uint64_t kMostLogBytes = std::uint64_t{64} << 20;  // of one answer

void answer_with(const Responder& responder, Result<json> document) {
  responder.respond(document.is_ok() ? json_response(*document) : error_response(document.status()));
}

// Parses the document of the node.
Result<json> parsed(Result<std::string> text) {
  if (!text.is_ok()) return text.status();
  json document = parse_json(*text);
  if (document.is_discarded()) return Status(StatusCode::kInternal, "the node's answer is no JSON");
  return document;
}

Result<LogPlace> place_in(const Request& request) {
  LogPlace place;
  FRAY_ASSIGN_OR_RETURN(std::uint64_t replica, number_in(request, "replica", UINT32_MAX));
  FRAY_ASSIGN_OR_RETURN(std::uint64_t attempt, number_in(request, "attempt", UINT32_MAX));
  FRAY_ASSIGN_OR_RETURN(place.offset, number_in(request, "offset", UINT64_MAX));
  if (request.query.contains("tail")) {
    FRAY_ASSIGN_OR_RETURN(place.tail_lines, number_in(request, "tail", kMostTailLines));
  }
  place.replica = static_cast<std::uint32_t>(replica);
  place.attempt = static_cast<std::uint32_t>(attempt);
  auto stream = request.query.find("stream");
  if (stream == request.query.end() || stream->second == "stdout") {
    place.stream = 1;
  } else if (stream->second == "stderr") {
    place.stream = 2;
  } else {
    return Status(StatusCode::kInvalidArgument, "stream must be stdout or stderr");
  }
  return place;
}

std::vector<Route::Parameter> cluster_parameter() {
  return {{"cluster", "string", "the name of a cluster that this node was told of; this node if not given"}};
}

std::vector<Route::Parameter> log_parameters() {
  return {{"replica", "integer", "which replica; 0 if not given"},
          {"stream", "string", "stdout (if not given) or stderr"},
          {"offset", "integer", "of the first byte; 0 if not given"},
          {"tail", "integer", "begin with so many of the last lines, where there is no offset"},
          {"attempt", "integer", "that attempt alone, counted from 1; if not given, the newest and those after it"},
          cluster_parameter().front()};
}

Status take_spec(const std::string& body, std::string* spec, std::string* token) {
  auto members = Members::parse(body);
  FRAY_RETURN_IF_ERROR(members.status());
  FRAY_RETURN_IF_ERROR(members->text("token", token));
  const json given = members->take("spec");
  if (!given.is_string())
    return wrong_type("spec", "the spec of a cluster, such as ray?address=http://HOST:PORT", given);
  *spec = given.get<std::string>();
  return members->end();
}

// Reads a log piece by piece until its end so far.
class WholeLog : public std::enable_shared_from_this<WholeLog> {
 public:
  using Callback = std::function<void(Result<LogPieces>)>;

  WholeLog(std::unique_ptr<JobLog> log, std::uint64_t most_bytes, Callback callback)
      : log_(std::move(log)), most_bytes_(most_bytes), callback_(std::move(callback)) {}

  // The object lives until the callback was called.
  void read() {
    log_->next(false, [self = shared_from_this()](Result<LogPieces> pieces) { self->arrived(std::move(pieces)); });
  }

 private:
  void arrived(Result<LogPieces> pieces) {
    if (!pieces.is_ok()) return callback_(pieces.status());
    std::uint64_t bytes = 0;
    for (wire::LogPiece& piece : pieces->pieces) {
      bytes += piece.bytes.size();
      whole_.pieces.push_back(std::move(piece));
    }
    most_bytes_ -= std::min(most_bytes_, bytes);
    whole_.ended = pieces->ended;
    if (bytes == 0 || whole_.ended || most_bytes_ == 0) return callback_(std::move(whole_));
    read();
  }

  std::unique_ptr<JobLog> log_;
  std::uint64_t most_bytes_;
  Callback callback_;
  LogPieces whole_;
};

// The text of all pieces, the parts of each stream together.
std::string text_of(const LogPieces& pieces) {
  std::map<std::pair<std::uint32_t, std::uint8_t>, std::string> streams;
  for (const wire::LogPiece& piece : pieces.pieces) streams[{piece.at.replica, piece.at.stream}] += piece.bytes;
  std::string text;
  for (const auto& [place, bytes] : streams) text += printable(bytes);
  return text;
}

Response plain(unsigned status, std::string text) { return {status, "text/plain; charset=utf-8", std::move(text), {}}; }

// Ray's clients show the body as it is.
Response ray_refusal(const Status& status, const std::string& id) {
  if (status.code() == StatusCode::kNotFound) return plain(404, "Job " + id + " does not exist");
  return plain(error_response(status).status, status.message());
}

}  // namespace

Api::Api(event::Loop& loop, node::NodeView& node, std::string packages_folder)
    : loop_(loop), node_(node), packages_(std::move(packages_folder)) {
  add_node_routes();
  add_job_routes();
  add_log_routes();
  add_ray_routes();
  add_package_routes();
  add_queue_routes(routes_, node_);
  add_cluster_routes();
  add_dashboard_routes(routes_, node_, sessions_, PageFiles::of_this_program());
  // A browser that has logged in may read all routes of Fray, and stop jobs.
  routes_.admit_sessions([](const Route& route) {
    const bool looks = route.method == "GET" && route.pattern.starts_with("/api/v1/");
    return looks || (route.method == "POST" && route.pattern == "/api/v1/jobs/{id}/stop");
  });
}

std::unique_ptr<JobLog> Api::own_log(const std::string& id) {
  return std::make_unique<NodeJobLog>(loop_, node_, id, LogPlace());
}

void Api::add_node_routes() {
  // A part of the status document, or all of it.
  auto part = [this](const char* key) {
    return [this, key](Request, const Responder& responder) {
      Result<json> status = parsed(node_.status());
      if (!status.is_ok() || key == nullptr) return answer_with(responder, status);
      answer_with(responder, json{{"schema", "fray/v1"}, {key, status->value(key, json())}});
    };
  };
  routes_.add_json("GET", "/api/v1/status", "Everything: resources, clients, workers, what waits and why", {},
                   part(nullptr));
  routes_.add_json("GET", "/api/v1/nodes", "The nodes: this one", {}, [this](Request, const Responder& responder) {
    Result<json> status = parsed(node_.status());
    if (!status.is_ok()) return answer_with(responder, status);
    json node = status->value("node", json::object());
    node["resources"] = status->value("resources", json());
    answer_with(responder, json{{"schema", "fray/v1"}, {"nodes", json::array({node})}});
  });
  routes_.add_json("GET", "/api/v1/workers", "Worker processes and what they run", {}, part("workers"));
  routes_.add_json("GET", "/api/v1/waiting", "What waits for workers, and why", {}, part("waiting"));
  routes_.add_json("GET", "/api/v1/actors", "Living actors", {}, part("actors"));
  routes_.add_json("GET", "/api/v1/objects", "How many objects are shared", {}, part("objects"));
  routes_.add_json("GET", "/api/v1/store", "Shared memory in use", {}, part("store"));
  routes_.add_json("GET", "/api/v1/openapi.json", "This document", {}, [this](Request, const Responder& responder) {
    responder.respond(json_response(routes_.document(FRAY_VERSION)));
  });
  routes_.add({"GET", "/metrics", "For Prometheus", {}, {}, "text/plain", [this](Request, const Responder& responder) {
                 answer_metrics(responder);
               }});
}

void Api::answer_metrics(const Responder& responder) {
  Result<json> status = parsed(node_.status());
  if (!status.is_ok()) return responder.respond(error_response(status.status()));
  auto jobs = node_.get_jobs({});
  const json told = jobs.is_ok() ? job_list_json(*jobs) : json(nullptr);
  const json runs = node_.dashboard().run_times();  // first, because it starts the counting of runs
  const json now = node_.dashboard().now();
  responder.respond({200, kMetricsType, metrics_text({*status, now, runs, told}), {}});
}

// Adds a route about jobs of the node or of another cluster.
void Api::add_job_route(const char* method, const char* pattern, const char* summary, JobVerb verb) {
  routes_.add({method,
               pattern,
               summary,
               cluster_parameter(),
               {},
               "application/json",
               [this, verb](const Request& request, const Responder& responder) {
                 verb(*JobSource::of(request, loop_, node_), request,
                      [responder](const Result<json>& document) { answer_with(responder, document); });
               }});
}

void Api::add_job_routes() {
  add_job_route("GET", "/api/v1/jobs", "All jobs, in the order of acceptance",
                [](JobSource& jobs, const Request&, auto answer) { jobs.list(answer); });
  routes_.add_json("POST", "/api/v1/jobs", "Submit a job; answered once it is sure to survive the node", order_schema(),
                   [this](Request request, const Responder& responder) {
                     if (request.query.contains("cluster")) {
                       return responder.respond(error_response(
                           Status(StatusCode::kInvalidArgument,
                                  "jobs of another cluster are submitted there, as `fray submit --cluster …` does")));
                     }
                     Result<JobInfo> job = submit(parse_order(request.body, python_));
                     answer_with(responder, job.is_ok() ? Result<json>(job_json(*job)) : job.status());
                   });
  add_job_route("GET", "/api/v1/jobs/{id}", "One job",
                [](JobSource& jobs, const Request& request, auto answer) { jobs.get(request.captures[0], answer); });
  add_job_route("POST", "/api/v1/jobs/{id}/stop", "Ask a job to end",
                [](JobSource& jobs, const Request& request, auto answer) { jobs.stop(request.captures[0], answer); });
  add_job_route("DELETE", "/api/v1/jobs/{id}", "Forget a job that has ended, with its output",
                [](JobSource& jobs, const Request& request, auto answer) { jobs.remove(request.captures[0], answer); });
}

void Api::add_cluster_routes() {
  node::Clusters& clusters = node_.clusters();
  routes_.add_json(
      "GET", "/api/v1/clusters", "The clusters beside this node that it was told of", {},
      [&clusters](Request, const Responder& responder) { responder.respond(json_response(clusters.list())); });
  const json schema = {
      {"type", "object"},
      {"required", {"spec"}},
      {"properties",
       {{"spec",
         {{"type", "string"}, {"description", "as `--cluster` has it, such as ray?address=http://10.0.0.5:8265"}}},
        {"token",
         {{"type", "string"},
          {"description", "what the cluster wants to see; what the node finds by itself if not given"}}}}}};
  routes_.add_json("POST", "/api/v1/clusters", "Show the jobs of another cluster too", schema,
                   [&clusters](Request request, const Responder& responder) {
                     std::string spec, token;
                     if (Status taken = take_spec(request.body, &spec, &token); !taken.is_ok()) {
                       return responder.respond(error_response(taken));
                     }
                     clusters.add(spec, token, [responder](const Result<json>& told) { answer_with(responder, told); });
                   });
  routes_.add_json("DELETE", "/api/v1/clusters/{name}", "Show the jobs of a cluster no more", {},
                   [&clusters](Request request, const Responder& responder) {
                     answer_with(responder, clusters.remove(request.captures[0]));
                   });
}

Result<JobInfo> Api::submit(Result<JobSpec> order) {
  if (!order.is_ok()) return order.status();
  return node_.submit_job(std::move(order).value());
}

void Api::add_log_routes() {
  routes_.add({"GET",
               "/api/v1/jobs/{id}/logs",
               "Output from an offset on, as far as it is there",
               log_parameters(),
               {},
               "application/octet-stream",
               [this](Request request, const Responder& responder) {
                 Result<LogPlace> place = place_in(request);
                 if (!place.is_ok()) return responder.respond(error_response(place.status()));
                 auto answer = [responder, offset = place->offset](Result<LogPieces> pieces) {
                   if (!pieces.is_ok()) return responder.respond(error_response(pieces.status()));
                   Response response{200, "application/octet-stream", "", {}};
                   std::uint64_t missing = 0;
                   std::uint64_t next = offset;
                   for (const wire::LogPiece& piece : pieces->pieces) {
                     response.body += piece.bytes;
                     missing += piece.missing;
                     next = piece.at.offset + piece.bytes.size();
                   }
                   response.headers = {{"Fray-Next-Offset", std::to_string(next)},
                                       {"Fray-Missing-Bytes", std::to_string(missing)},
                                       {"Fray-Ended", pieces->ended ? "true" : "false"}};
                   responder.respond(response);
                 };
                 const auto jobs = JobSource::of(request, loop_, node_);
                 std::make_shared<WholeLog>(jobs->log(request.captures[0], *place), kMostLogBytes, answer)->read();
               }});
  routes_.add({"GET",
               "/api/v1/jobs/{id}/logs/follow",
               "Output as it comes, as server-sent events",
               log_parameters(),
               {},
               "text/event-stream",
               [this](Request request, const Responder& responder) {
                 Result<LogPlace> place = place_in(request);
                 if (!place.is_ok()) return responder.respond(error_response(place.status()));
                 // A browser that lost its connection sends the id of the last event that it has read.
                 const std::string_view last = request.header("last-event-id");
                 std::from_chars(last.data(), last.data() + last.size(), place->offset);
                 // A missing job is reported by the HTTP status, before the stream begins.
                 const std::string& id = request.captures[0];
                 const std::shared_ptr<JobSource> jobs = JobSource::of(request, loop_, node_);
                 jobs->get(id, [this, id, jobs, place = *place, responder](const Result<json>& job) {
                   if (!job.is_ok()) return responder.respond(error_response(job.status()));
                   responder.stream({200, "text/event-stream", "", {}},
                                    std::make_shared<LogStream>(loop_, jobs->log(id, place), LogStream::Form::kEvents));
                 });
               }});
}

void Api::add_ray_routes() {
  routes_.add_json("GET", "/api/version", "Ray's: which release's protocol is spoken", {},
                   [](Request, const Responder& responder) {
                     responder.respond(json_response({{"version", kRayApi},
                                                      {"ray_version", kRayRelease},
                                                      {"ray_commit", "fray"},
                                                      {"session_name", "fray"},
                                                      {"fray_version", FRAY_VERSION}}));
                   });
  routes_.add_json("POST", "/api/jobs/", "Ray's: submit a job", ray_order_schema(),
                   [this](Request request, const Responder& responder) { submit_as_ray(request, responder); });
  routes_.add_json("GET", "/api/jobs/", "Ray's: all jobs", {}, [this](Request, const Responder& responder) {
    auto jobs = node_.get_jobs({});
    if (!jobs.is_ok()) return responder.respond(ray_refusal(jobs.status(), ""));
    json details = json::array();
    for (const JobInfo& job : *jobs) details.push_back(ray_details(job));
    responder.respond(json_response(details));
  });
  routes_.add_json("GET", "/api/jobs/{id}", "Ray's: one job", {},
                   of_ray_job([](const Request&, const JobInfo& job, const Responder& responder) {
                     responder.respond(json_response(ray_details(job)));
                   }));
  add_ray_ends();
  add_ray_logs();
}

void Api::submit_as_ray(const Request& request, const Responder& responder) {
  Result<JobSpec> order = parse_ray_order(request.body, python_, packages_);
  if (!order.is_ok()) return responder.respond(plain(400, order.status().message()));
  const std::string id = order->id;
  Result<JobInfo> job = submit(std::move(order));
  if (!job.is_ok()) {
    const bool taken = job.status().code() == StatusCode::kAlreadyExists;
    return responder.respond(taken ? plain(500, "Job with submission_id " + id + " already exists")
                                   : ray_refusal(job.status(), id));
  }
  responder.respond(json_response({{"job_id", job->id()}, {"submission_id", job->id()}}));
}

// Routes of Ray take whole ids only, although the node also accepts the beginning of an id.
decltype(Route::handler) Api::of_ray_job(std::function<void(const Request&, const JobInfo&, const Responder&)> answer) {
  return [this, answer = std::move(answer)](Request request, const Responder& responder) {
    const std::string id = request.captures[0];
    Result<JobInfo> job = only_job(node_.get_jobs({id}));
    if (!job.is_ok()) return responder.respond(ray_refusal(job.status(), id));
    if (job->id() != id) return responder.respond(plain(404, "Job " + id + " does not exist"));
    answer(request, *job, responder);
  };
}

void Api::add_ray_ends() {
  routes_.add_json("POST", "/api/jobs/{id}/stop", "Ray's: ask a job to end", {},
                   of_ray_job([this](const Request& request, const JobInfo& job, const Responder& responder) {
                     if (job.has_ended()) return responder.respond(json_response({{"stopped", false}}));
                     auto stopped = node_.stop_jobs(request.captures);
                     if (!stopped.is_ok()) return responder.respond(ray_refusal(stopped.status(), request.captures[0]));
                     responder.respond(json_response({{"stopped", true}}));
                   }));
  routes_.add_json("DELETE", "/api/jobs/{id}", "Ray's: forget a job that has ended", {},
                   of_ray_job([this](const Request& request, const JobInfo& job, const Responder& responder) {
                     if (!job.has_ended()) {
                       return responder.respond(
                           plain(500, fmt::format("Attempted to delete job '{}', but it is in a non-terminal state {}.",
                                                  request.captures[0], ray_details(job)["status"].get<std::string>())));
                     }
                     auto removed = node_.remove_jobs(request.captures);
                     if (!removed.is_ok()) return responder.respond(ray_refusal(removed.status(), request.captures[0]));
                     responder.respond(json_response({{"deleted", true}}));
                   }));
}

void Api::add_ray_logs() {
  routes_.add_json("GET", "/api/jobs/{id}/logs", "Ray's: all output so far", {},
                   of_ray_job([this](const Request& request, const JobInfo&, const Responder& responder) {
                     auto answer = [responder](Result<LogPieces> pieces) {
                       if (!pieces.is_ok()) return responder.respond(error_response(pieces.status()));
                       responder.respond(json_response({{"logs", text_of(*pieces)}}));
                     };
                     std::make_shared<WholeLog>(own_log(request.captures[0]), kMostLogBytes, answer)->read();
                   }));
  routes_.add({"GET",
               "/api/jobs/{id}/logs/tail",
               "Ray's: output as it comes, over a WebSocket",
               {},
               {},
               "",
               of_ray_job([this](const Request& request, const JobInfo&, const Responder& responder) {
                 const std::string_view key = request.header("sec-websocket-key");
                 if (key.empty() || request.header("sec-websocket-version") != "13") {
                   return responder.respond(plain(400, "this path is a WebSocket (version 13)"));
                 }
                 Response head{101, "", "", {}};
                 head.headers = {{"Upgrade", "websocket"},
                                 {"Connection", "Upgrade"},
                                 {"Sec-WebSocket-Accept", websocket::accept_key(key)}};
                 responder.stream(head, std::make_shared<LogStream>(loop_, own_log(request.captures[0]),
                                                                    LogStream::Form::kWebSocket));
               })});
}

void Api::add_package_routes() {
  routes_.add({"GET",
               "/api/packages/{protocol}/{name}",
               "Ray's: whether a package is here",
               {},
               {},
               "text/plain",
               [this](Request request, const Responder& responder) {
                 const std::string& protocol = request.captures[0];
                 const std::string& name = request.captures[1];
                 if (packages_.has(protocol, name)) return responder.respond(plain(200, ""));
                 responder.respond(plain(404, fmt::format("Package {}://{} does not exist", protocol, name)));
               }});
  Route upload{"PUT",
               "/api/packages/{protocol}/{name}",
               "Ray's: send a package, an archive of at most 100 MiB",
               {},
               {},
               "text/plain",
               [](Request request, const Responder& responder) {
                 Status kept = static_cast<PackageStore::Draft&>(*request.sink).finish();
                 responder.respond(kept.is_ok() ? plain(200, "") : error_response(kept));
               }};
  upload.sink = [this](const Request& request) -> Result<std::shared_ptr<BodySink>> {
    FRAY_ASSIGN_OR_RETURN(auto draft, packages_.begin(request.captures[0], request.captures[1]));
    return std::shared_ptr<BodySink>(std::move(draft));
  };
  routes_.add(std::move(upload));
}

}  // namespace fray::http
