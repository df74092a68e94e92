#include "http/api.h"

#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "http/job_documents.h"
#include "http/log_stream.h"
#include "http/metrics.h"
#include "model/json_text.h"
#include "websocket/frames.h"

namespace fray::http {

namespace {

using nlohmann::json;

// What Ray's clients are told they talk to: the release whose protocol is spoken, and its version of the job API.
constexpr const char* kRayRelease = "2.60.0";
constexpr const char* kRayApi = "4";
constexpr std::uint64_t kMostLogBytes = std::uint64_t{64} << 20;  // of one answer

// The document of an answer; the answer's own failure otherwise.
Result<json> document_of(Result<NodeLink::Reply> reply) {
  if (!reply.is_ok()) return reply.status();
  FRAY_ASSIGN_OR_RETURN(wire::Text text, wire::Text::decode(reply->body));
  if (reply->type != wire::ControlType::kStatusReply) return Status(StatusCode::kUnavailable, text.text);
  json document = parse_json(text.text);
  if (!document.is_object()) return Status(StatusCode::kInternal, "the node's status is no JSON object");
  return document;
}

void answer_with(const Responder& responder, Result<json> document) {
  responder.respond(document.is_ok() ? json_response(*document) : error_response(document.status()));
}

Result<json> parsed(Result<std::string> text) {
  if (!text.is_ok()) return text.status();
  json document = parse_json(*text);
  if (document.is_discarded()) return Status(StatusCode::kInternal, "the node's answer is no JSON");
  return document;
}

// The one job in a list of one.
Result<json> only(Result<json> jobs) {
  if (!jobs.is_ok() || jobs->is_object()) return jobs;
  if (jobs->size() == 1) return std::move((*jobs)[0]);
  return Status(StatusCode::kNotFound, "there is no such job");
}

Result<std::uint64_t> number_in(const Request& request, const std::string& name, std::uint64_t most) {
  auto found = request.query.find(name);
  if (found == request.query.end()) return std::uint64_t{0};
  const std::string& text = found->second;
  std::uint64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number > most) {
    return Status(StatusCode::kInvalidArgument, fmt::format("{} must be a whole number from 0 to {}", name, most));
  }
  return number;
}

Result<LogPlace> place_in(const Request& request) {
  LogPlace place;
  FRAY_ASSIGN_OR_RETURN(std::uint64_t replica, number_in(request, "replica", UINT32_MAX));
  FRAY_ASSIGN_OR_RETURN(place.offset, number_in(request, "offset", UINT64_MAX));
  place.replica = static_cast<std::uint32_t>(replica);
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

std::vector<Route::Parameter> log_parameters() {
  return {{"replica", "integer", "which replica; 0 if not given"},
          {"stream", "string", "stdout (if not given) or stderr"},
          {"offset", "integer", "of the first byte; 0 if not given"}};
}

// Reads a log piece by piece until its end so far.
class WholeLog : public std::enable_shared_from_this<WholeLog> {
 public:
  using Callback = std::function<void(Result<LogPieces>)>;

  WholeLog(std::unique_ptr<LogReader> reader, std::uint64_t most_bytes, Callback callback)
      : reader_(std::move(reader)), most_bytes_(most_bytes), callback_(std::move(callback)) {}

  // Lives until the callback was called.
  void read() {
    reader_->next(false, [self = shared_from_this()](Result<LogPieces> pieces) { self->arrived(std::move(pieces)); });
  }

 private:
  void arrived(Result<LogPieces> pieces) {
    if (!pieces.is_ok()) return callback_(pieces.status());
    std::uint64_t bytes = 0;
    for (LogPiece& piece : pieces->pieces) {
      bytes += piece.bytes.size();
      whole_.pieces.push_back(std::move(piece));
    }
    most_bytes_ -= std::min(most_bytes_, bytes);
    whole_.ended = pieces->ended;
    if (bytes == 0 || whole_.ended || most_bytes_ == 0) return callback_(std::move(whole_));
    read();
  }

  std::unique_ptr<LogReader> reader_;
  std::uint64_t most_bytes_;
  Callback callback_;
  LogPieces whole_;
};

// The text of all pieces, the parts of each stream together.
std::string text_of(const LogPieces& pieces) {
  std::map<std::pair<std::uint32_t, std::uint8_t>, std::string> streams;
  for (const LogPiece& piece : pieces.pieces) streams[{piece.replica, piece.stream}] += piece.bytes;
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

Api::Api(event::Loop& loop, NodeLink& link, JobService* jobs, std::string packages_folder)
    : loop_(loop), link_(link), jobs_(jobs), packages_(std::move(packages_folder)) {
  add_node_routes();
  if (jobs_ == nullptr) return;
  add_job_routes();
  add_log_routes();
  add_ray_routes();
  add_package_routes();
}

void Api::add_node_routes() {
  // A part of the status document, or all of it.
  auto part = [this](const char* key) {
    return [this, key](Request, const Responder& responder) {
      link_.ask(wire::ControlType::kStatusRequest, [responder, key](Result<NodeLink::Reply> reply) {
        Result<json> status = document_of(reply);
        if (!status.is_ok() || key == nullptr) return answer_with(responder, status);
        answer_with(responder, json{{"schema", "fray/v1"}, {key, status->value(key, json())}});
      });
    };
  };
  routes_.add({"GET",
               "/api/v1/status",
               "Everything: resources, clients, workers, what waits and why",
               {},
               {},
               "application/json",
               part(nullptr)});
  routes_.add({"GET",
               "/api/v1/nodes",
               "The nodes: this one",
               {},
               {},
               "application/json",
               [this](Request, const Responder& responder) {
                 link_.ask(wire::ControlType::kStatusRequest, [responder](Result<NodeLink::Reply> reply) {
                   Result<json> status = document_of(reply);
                   if (!status.is_ok()) return answer_with(responder, status);
                   json node = status->value("node", json::object());
                   node["resources"] = status->value("resources", json());
                   answer_with(responder, json{{"schema", "fray/v1"}, {"nodes", json::array({node})}});
                 });
               }});
  routes_.add(
      {"GET", "/api/v1/workers", "Worker processes and what they run", {}, {}, "application/json", part("workers")});
  routes_.add(
      {"GET", "/api/v1/waiting", "What waits for workers, and why", {}, {}, "application/json", part("waiting")});
  routes_.add({"GET", "/api/v1/actors", "Living actors", {}, {}, "application/json", part("actors")});
  routes_.add({"GET", "/api/v1/objects", "How many objects are shared", {}, {}, "application/json", part("objects")});
  routes_.add({"GET", "/api/v1/store", "Shared memory in use", {}, {}, "application/json", part("store")});
  routes_.add({"GET",
               "/api/v1/openapi.json",
               "This document",
               {},
               {},
               "application/json",
               [this](Request, const Responder& responder) {
                 responder.respond(json_response(routes_.document(FRAY_VERSION)));
               }});
  routes_.add({"GET", "/metrics", "For Prometheus", {}, {}, "text/plain", [this](Request, const Responder& responder) {
                 answer_metrics(responder);
               }});
}

void Api::answer_metrics(const Responder& responder) {
  link_.ask(wire::ControlType::kStatusRequest, [this, responder](Result<NodeLink::Reply> reply) {
    Result<json> status = document_of(reply);
    if (!status.is_ok()) return responder.respond(error_response(status.status()));
    auto answer = [responder, status = *status](const json& jobs) {
      responder.respond({200, kMetricsType, metrics_text(status, jobs), {}});
    };
    if (jobs_ == nullptr) return answer(nullptr);
    jobs_->get("", [answer](Result<std::string> text) {
      Result<json> jobs = parsed(std::move(text));
      answer(jobs.is_ok() ? *jobs : json(nullptr));
    });
  });
}

void Api::add_job_routes() {
  auto document = [](const Responder& responder) {
    return [responder](Result<std::string> text) { answer_with(responder, only(parsed(std::move(text)))); };
  };
  routes_.add({"GET",
               "/api/v1/jobs",
               "All jobs, in the order of acceptance",
               {},
               {},
               "application/json",
               [this](Request, const Responder& responder) {
                 jobs_->get("", [responder](Result<std::string> text) {
                   Result<json> jobs = parsed(std::move(text));
                   if (!jobs.is_ok()) return answer_with(responder, jobs);
                   answer_with(responder, json{{"schema", "fray/v1"}, {"jobs", *jobs}});
                 });
               }});
  routes_.add({"POST",
               "/api/v1/jobs",
               "Submit a job; answered once it is sure to survive the node",
               {},
               order_schema(),
               "application/json",
               [this, document](Request request, const Responder& responder) {
                 Result<JobOrder> order = parse_order(request.body, python_);
                 if (!order.is_ok()) return responder.respond(error_response(order.status()));
                 jobs_->submit(std::move(order).value(), document(responder));
               }});
  routes_.add({"GET",
               "/api/v1/jobs/{id}",
               "One job",
               {},
               {},
               "application/json",
               [this, document](Request request, const Responder& responder) {
                 jobs_->get(request.captures[0], document(responder));
               }});
  routes_.add({"POST",
               "/api/v1/jobs/{id}/stop",
               "Ask a job to end",
               {},
               {},
               "application/json",
               [this, document](Request request, const Responder& responder) {
                 jobs_->stop(request.captures[0], document(responder));
               }});
  routes_.add({"DELETE",
               "/api/v1/jobs/{id}",
               "Forget a job that has ended, with its output",
               {},
               {},
               "application/json",
               [this, document](Request request, const Responder& responder) {
                 jobs_->remove(request.captures[0], document(responder));
               }});
}

void Api::add_log_routes() {
  routes_.add(
      {"GET",
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
           for (const LogPiece& piece : pieces->pieces) {
             response.body += piece.bytes;
             missing += piece.missing;
             next = piece.offset + piece.bytes.size();
           }
           response.headers = {{"Fray-Next-Offset", std::to_string(next)},
                               {"Fray-Missing-Bytes", std::to_string(missing)},
                               {"Fray-Ended", pieces->ended ? "true" : "false"}};
           responder.respond(response);
         };
         std::make_shared<WholeLog>(jobs_->read_log(request.captures[0], *place), kMostLogBytes, answer)->read();
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
                 // Sent again by a browser that was cut off: where it had got to.
                 const std::string_view last = request.header("last-event-id");
                 std::from_chars(last.data(), last.data() + last.size(), place->offset);
                 // A job that is not there is told by a status, not by a stream.
                 const std::string id = request.captures[0];
                 jobs_->get(id, [this, responder, id, place = *place](Result<std::string> job) {
                   if (!job.is_ok()) return responder.respond(error_response(job.status()));
                   responder.stream(
                       {200, "text/event-stream", "", {}},
                       std::make_shared<LogStream>(loop_, jobs_->read_log(id, place), LogStream::Form::kEvents));
                 });
               }});
}

void Api::add_ray_routes() {
  routes_.add({"GET",
               "/api/version",
               "Ray's: which release's protocol is spoken",
               {},
               {},
               "application/json",
               [](Request, const Responder& responder) {
                 responder.respond(json_response({{"version", kRayApi},
                                                  {"ray_version", kRayRelease},
                                                  {"ray_commit", "fray"},
                                                  {"session_name", "fray"},
                                                  {"fray_version", FRAY_VERSION}}));
               }});
  routes_.add({"POST",
               "/api/jobs/",
               "Ray's: submit a job",
               {},
               ray_order_schema(),
               "application/json",
               [this](Request request, const Responder& responder) {
                 Result<JobOrder> order = parse_ray_order(request.body, python_, packages_);
                 if (!order.is_ok()) return responder.respond(plain(400, order.status().message()));
                 const std::string id = order->id;
                 jobs_->submit(std::move(order).value(), [responder, id](Result<std::string> text) {
                   Result<json> job = only(parsed(std::move(text)));
                   if (!job.is_ok()) {
                     const bool taken = job.status().code() == StatusCode::kAlreadyExists;
                     return responder.respond(taken ? plain(500, "Job with submission_id " + id + " already exists")
                                                    : ray_refusal(job.status(), id));
                   }
                   const std::string given = ray_details(*job)["submission_id"];
                   responder.respond(json_response({{"job_id", given}, {"submission_id", given}}));
                 });
               }});
  routes_.add(
      {"GET", "/api/jobs/", "Ray's: all jobs", {}, {}, "application/json", [this](Request, const Responder& responder) {
         jobs_->get("", [responder](Result<std::string> text) {
           Result<json> jobs = parsed(std::move(text));
           if (!jobs.is_ok()) return responder.respond(ray_refusal(jobs.status(), ""));
           json details = json::array();
           for (const json& job : *jobs) details.push_back(ray_details(job));
           responder.respond(json_response(details));
         });
       }});
  // Ray's ids are whole; the beginning of one, which the node takes too, is none.
  auto with_job = [this](auto answer) {
    return [this, answer](Request request, const Responder& responder) {
      const std::string id = request.captures[0];
      jobs_->get(id, [responder, id, answer, request](Result<std::string> text) {
        Result<json> job = only(parsed(std::move(text)));
        if (!job.is_ok()) return responder.respond(ray_refusal(job.status(), id));
        const json details = ray_details(*job);
        if (details["submission_id"] != id) return responder.respond(plain(404, "Job " + id + " does not exist"));
        answer(request, details, responder);
      });
    };
  };
  routes_.add({"GET",
               "/api/jobs/{id}",
               "Ray's: one job",
               {},
               {},
               "application/json",
               with_job([](const Request&, const json& details, const Responder& responder) {
                 responder.respond(json_response(details));
               })});
  routes_.add({"POST",
               "/api/jobs/{id}/stop",
               "Ray's: ask a job to end",
               {},
               {},
               "application/json",
               with_job([this](const Request& request, const json& details, const Responder& responder) {
                 const bool over = details["end_time"].is_number();
                 if (over) return responder.respond(json_response({{"stopped", false}}));
                 jobs_->stop(request.captures[0], [responder, id = request.captures[0]](Result<std::string> text) {
                   if (!text.is_ok()) return responder.respond(ray_refusal(text.status(), id));
                   responder.respond(json_response({{"stopped", true}}));
                 });
               })});
  routes_.add({"DELETE",
               "/api/jobs/{id}",
               "Ray's: forget a job that has ended",
               {},
               {},
               "application/json",
               with_job([this](const Request& request, const json& details, const Responder& responder) {
                 if (!details["end_time"].is_number()) {
                   return responder.respond(
                       plain(500, fmt::format("Attempted to delete job '{}', but it is in a non-terminal state {}.",
                                              request.captures[0], details["status"].get<std::string>())));
                 }
                 jobs_->remove(request.captures[0], [responder, id = request.captures[0]](Result<std::string> text) {
                   if (!text.is_ok()) return responder.respond(ray_refusal(text.status(), id));
                   responder.respond(json_response({{"deleted", true}}));
                 });
               })});
  routes_.add({"GET",
               "/api/jobs/{id}/logs",
               "Ray's: all output so far",
               {},
               {},
               "application/json",
               with_job([this](const Request& request, const json&, const Responder& responder) {
                 auto answer = [responder](Result<LogPieces> pieces) {
                   if (!pieces.is_ok()) return responder.respond(error_response(pieces.status()));
                   responder.respond(json_response({{"logs", text_of(*pieces)}}));
                 };
                 std::make_shared<WholeLog>(jobs_->read_log(request.captures[0], {}), kMostLogBytes, answer)->read();
               })});
  routes_.add({"GET",
               "/api/jobs/{id}/logs/tail",
               "Ray's: output as it comes, over a WebSocket",
               {},
               {},
               "",
               with_job([this](const Request& request, const json&, const Responder& responder) {
                 const std::string_view key = request.header("sec-websocket-key");
                 if (key.empty() || request.header("sec-websocket-version") != "13") {
                   return responder.respond(plain(400, "this path is a WebSocket (version 13)"));
                 }
                 Response head{101, "", "", {}};
                 head.headers = {{"Upgrade", "websocket"},
                                 {"Connection", "Upgrade"},
                                 {"Sec-WebSocket-Accept", websocket::accept_key(key)}};
                 responder.stream(head, std::make_shared<LogStream>(loop_, jobs_->read_log(request.captures[0], {}),
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
