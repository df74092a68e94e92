#include "http/node_jobs.h"

#include <cstdlib>
#include <utility>

#include "os/spawn.h"
#include "wire/job.h"

namespace fray::http {

namespace {

using wire::ControlType;

Result<std::string> answer_of(Result<NodeLink::Reply> reply) {
  if (!reply.is_ok()) return reply.status();
  FRAY_ASSIGN_OR_RETURN(wire::JobAnswer answer, wire::JobAnswer::decode(reply->body));
  if (answer.code != StatusCode::kOk) return Status(answer.code, answer.message);
  return std::move(answer.json);
}

// The node's own variables, as a program has them that is started where the node was.
std::vector<std::pair<std::string, std::string>> variables_with(const std::map<std::string, std::string>& further) {
  std::vector<std::pair<std::string, std::string>> variables;
  for (auto& variable : os::own_environment()) {
    if (!further.contains(variable.first)) variables.push_back(std::move(variable));
  }
  if (std::getenv("PYTHONUNBUFFERED") == nullptr && !further.contains("PYTHONUNBUFFERED")) {
    variables.emplace_back("PYTHONUNBUFFERED", "1");
  }
  variables.insert(variables.end(), further.begin(), further.end());
  return variables;
}

Result<JobSpec> spec_of(JobOrder order) {
  JobSpec spec;
  spec.id = std::move(order.id);
  spec.name = std::move(order.name);
  spec.command = std::move(order.command);
  spec.folder = std::move(order.folder);
  const char* home = std::getenv("HOME");
  if (spec.folder.empty()) spec.folder = home != nullptr && *home == '/' ? home : "/";
  spec.environment = variables_with(order.environment);
  for (const auto& [name, amount] : order.resources) FRAY_RETURN_IF_ERROR(spec.resources.set(name, amount));
  spec.replicas = order.replicas;
  spec.max_processes = order.max_processes;
  spec.max_files = order.max_files;
  spec.priority = order.priority;
  spec.deadline_seconds = order.deadline_seconds.value_or(spec.deadline_seconds);
  spec.grace_seconds = order.grace_seconds.value_or(spec.grace_seconds);
  spec.runtime_env = std::move(order.runtime_env);
  spec.metadata = std::move(order.metadata);
  FRAY_RETURN_IF_ERROR(spec.check());
  return spec;
}

// Goes on from attempt to attempt, to the job's end.
class NodeLog : public LogReader {
 public:
  NodeLog(event::Loop& loop, std::string socket_path, std::string id, LogPlace place)
      : loop_(loop), socket_path_(std::move(socket_path)), id_(std::move(id)), place_(place) {}
  ~NodeLog() override { loop_.cancel(timer_); }

  void next(bool wait, Callback callback) override {
    wait_ = wait;
    callback_ = std::move(callback);
    if (!link_) {
      auto link = NodeLink::open(loop_, socket_path_);
      if (!link.is_ok()) return later(link.status());
      link_ = std::move(link).value();
    }
    if (request_.cursors.empty()) return open(0);
    read();
  }

 private:
  // When there is nothing to wait for yet: no attempt, or not the next one.
  static constexpr std::chrono::milliseconds kPause{50};

  void open(std::uint32_t attempt) {
    wire::OpenJobLog message;
    message.id = id_;
    message.attempt = attempt;
    link_->ask(ControlType::kOpenJobLog, message, [this](Result<NodeLink::Reply> reply) { opened(std::move(reply)); });
  }

  void opened(Result<NodeLink::Reply> reply) {
    if (!reply.is_ok()) return answer(reply.status());
    auto message = wire::JobLogOpened::decode(reply->body);
    if (!message.is_ok()) return answer(message.status());
    if (message->code != StatusCode::kOk) return answer(Status(message->code, message->message));
    request_.id = message->id;
    request_.attempt = message->attempt;
    request_.cursors.clear();
    for (wire::LogCursor& cursor : message->cursors) {
      if (place_.stream != 0 && (cursor.replica != place_.replica || cursor.stream != place_.stream)) continue;
      // An offset counts in the attempt that was asked for, the newest one then.
      if (place_.stream != 0) cursor.offset = std::exchange(place_.offset, 0);
      request_.cursors.push_back(cursor);
    }
    if (message->attempt != 0 && request_.cursors.empty()) {
      return answer(Status(StatusCode::kNotFound, "the job has no such replica"));
    }
    read();
  }

  void read() {
    request_.wait = wait_;
    link_->ask(ControlType::kReadJobLog, request_,
               [this](Result<NodeLink::Reply> reply) { arrived(std::move(reply)); });
  }

  void arrived(Result<NodeLink::Reply> reply) {
    if (!reply.is_ok()) return answer(reply.status());
    auto message = wire::JobLogPieces::decode(reply->body);
    if (!message.is_ok()) return answer(message.status());
    if (message->code != StatusCode::kOk) return answer(Status(message->code, message->message));
    LogPieces pieces;
    for (wire::LogPiece& piece : message->pieces) {
      for (wire::LogCursor& cursor : request_.cursors) {
        if (cursor.replica != piece.at.replica || cursor.stream != piece.at.stream) continue;
        cursor.offset = piece.at.offset + piece.bytes.size();
      }
      pieces.pieces.push_back(
          {piece.at.replica, piece.at.stream, piece.at.offset, piece.missing, std::move(piece.bytes)});
    }
    const bool moved_on = message->newest > request_.attempt;
    if (pieces.pieces.empty() && message->ended && moved_on) return open(0);
    pieces.ended = message->ended && message->job_ended;
    if (!pieces.pieces.empty() || pieces.ended || !wait_) return answer(std::move(pieces));
    timer_ = loop_.after(kPause, [this] { open(0); });
  }

  void later(Status why) {
    timer_ = loop_.after({}, [this, why = std::move(why)] { answer(why); });
  }
  // The callback may be the end of this.
  void answer(Result<LogPieces> pieces) { std::exchange(callback_, {})(std::move(pieces)); }

  event::Loop& loop_;
  std::string socket_path_;
  std::string id_;
  LogPlace place_;
  std::unique_ptr<NodeLink> link_;
  wire::ReadJobLog request_;
  Callback callback_;
  bool wait_ = false;
  event::TimerId timer_ = 0;
};

}  // namespace

void NodeJobs::ask(ControlType type, const std::string& id, Callback callback) {
  wire::JobNames names;
  if (!id.empty()) names.ids.push_back(id);
  link_.ask(type, names,
            [callback = std::move(callback)](Result<NodeLink::Reply> reply) { callback(answer_of(std::move(reply))); });
}

void NodeJobs::submit(JobOrder order, Callback callback) {
  wire::SubmitJob message;
  Result<JobSpec> spec = spec_of(std::move(order));
  if (!spec.is_ok()) {
    loop_.after({}, [callback = std::move(callback), why = spec.status()] { callback(why); });
    return;
  }
  message.spec = std::move(spec).value();
  link_.ask(ControlType::kSubmitJob, message,
            [callback = std::move(callback)](Result<NodeLink::Reply> reply) { callback(answer_of(std::move(reply))); });
}

void NodeJobs::get(const std::string& id, Callback callback) { ask(ControlType::kGetJobs, id, std::move(callback)); }
void NodeJobs::stop(const std::string& id, Callback callback) { ask(ControlType::kStopJob, id, std::move(callback)); }

void NodeJobs::remove(const std::string& id, Callback callback) {
  ask(ControlType::kDeleteJob, id, std::move(callback));
}

std::unique_ptr<LogReader> NodeJobs::read_log(const std::string& id, LogPlace place) {
  return std::make_unique<NodeLog>(loop_, socket_path_, id, place);
}

}  // namespace fray::http
