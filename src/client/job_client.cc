#include "client/job_client.h"

#include <utility>

namespace fray::client {

using wire::ControlType;

template <typename Reply, typename Message>
Result<Reply> JobClient::ask(ControlType type, const Message& message, const Patience& patience) {
  Result<door::Answer> answer = node_.ask(type, message, Reply::kType, patience);
  if (!answer.is_ok() && answer.status().code() == StatusCode::kTimedOut && patience.deadline) {
    return Status(StatusCode::kTimedOut, "the time is up");
  }
  if (!answer.is_ok()) return answer.status();
  FRAY_ASSIGN_OR_RETURN(Reply reply, Reply::decode(answer->body));
  if (reply.code != StatusCode::kOk) return Status(reply.code, reply.message);
  return reply;
}

template <typename Message>
Result<std::string> JobClient::ask_for_json(ControlType type, const Message& message, const Patience& patience) {
  FRAY_ASSIGN_OR_RETURN(wire::JobAnswer answer, ask<wire::JobAnswer>(type, message, patience));
  return std::move(answer.json);
}

Result<std::string> JobClient::submit(JobSpec spec, const Patience& patience) {
  return ask_for_json(ControlType::kSubmitJob, wire::SubmitJob{std::move(spec)}, patience);
}

Result<std::string> JobClient::get(std::vector<std::string> ids, const Patience& patience) {
  return ask_for_json(ControlType::kGetJobs, wire::JobNames{std::move(ids)}, patience);
}

Result<std::string> JobClient::wait(std::vector<std::string> ids, const Patience& patience) {
  return ask_for_json(ControlType::kWaitJobs, wire::JobNames{std::move(ids)}, patience);
}

Result<std::string> JobClient::stop(std::vector<std::string> ids, const Patience& patience) {
  return ask_for_json(ControlType::kStopJob, wire::JobNames{std::move(ids)}, patience);
}

Result<std::string> JobClient::remove(std::vector<std::string> ids, const Patience& patience) {
  return ask_for_json(ControlType::kDeleteJob, wire::JobNames{std::move(ids)}, patience);
}

Result<wire::JobLogOpened> JobClient::open_log(const wire::OpenJobLog& request, const Patience& patience) {
  return ask<wire::JobLogOpened>(ControlType::kOpenJobLog, request, patience);
}

Result<wire::JobLogPieces> JobClient::read_log(const wire::ReadJobLog& request, const Patience& patience) {
  return ask<wire::JobLogPieces>(ControlType::kReadJobLog, request, patience);
}

}  // namespace fray::client
