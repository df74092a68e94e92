#include "node/job_requests.h"

#include <memory>
#include <utility>

namespace fray::node {

using wire::ControlType;

Status JobRequests::handle(Connection& connection, ControlType type, wire::Incoming& frame) {
  const std::uint64_t ticket = frame.header.id;
  if (type == ControlType::kSubmitJob) {
    FRAY_ASSIGN_OR_RETURN(wire::SubmitJob message, wire::SubmitJob::decode(frame.body));
    submit(connection, ticket, std::move(message.spec));
    return Status::ok();
  }
  if (type == ControlType::kOpenJobLog) {
    FRAY_ASSIGN_OR_RETURN(wire::OpenJobLog message, wire::OpenJobLog::decode(frame.body));
    connection.send(ControlType::kJobLogOpened, ticket, jobs_.logs().open(message));
    return Status::ok();
  }
  if (type == ControlType::kReadJobLog) {
    FRAY_ASSIGN_OR_RETURN(wire::ReadJobLog message, wire::ReadJobLog::decode(frame.body));
    read_log(connection, ticket, std::move(message));
    return Status::ok();
  }
  FRAY_ASSIGN_OR_RETURN(wire::JobNames names, wire::JobNames::decode(frame.body));
  if (type == ControlType::kWaitJobs) {
    wait(connection, ticket, names);
    return Status::ok();
  }
  Result<std::string> found = jobs_.descriptions(names.ids);
  if (type == ControlType::kGetJobs || !found.is_ok() || names.ids.empty()) {
    answer(connection, ticket, found);
    return Status::ok();
  }
  Status done;
  for (const std::string& name : names.ids) {
    const std::string id = jobs_.find(name).value();
    Status one = type == ControlType::kStopJob ? jobs_.stop(id) : jobs_.remove(id);
    if (!one.is_ok()) done = one;
  }
  if (type == ControlType::kStopJob) found = jobs_.descriptions(names.ids);
  answer(connection, ticket, done.is_ok() ? found : Result<std::string>(done));
  return Status::ok();
}

void JobRequests::submit(Connection& connection, std::uint64_t ticket, JobSpec spec) {
  Result<std::string> id = jobs_.submit(std::move(spec), connection.pid);
  answer(connection, ticket, id.is_ok() ? Result<std::string>(jobs_.description(*id)) : id);
}

void JobRequests::wait(Connection& connection, std::uint64_t ticket, const wire::JobNames& names) {
  Connection* asker = &connection;
  auto id = std::make_shared<JobCarrier::WaitId>(0);
  Result<JobCarrier::WaitId> begun =
      jobs_.wait(names.ids, connection.pid, [this, asker, ticket, id](const std::string& text) {
        if (auto found = pending_.find(asker); found != pending_.end()) found->second.waits.erase(*id);
        answer(*asker, ticket, text);
      });
  if (!begun.is_ok()) return answer(connection, ticket, begun.status());
  *id = *begun;
  if (*begun != 0) pending_[asker].waits.insert(*begun);
}

void JobRequests::read_log(Connection& connection, std::uint64_t ticket, wire::ReadJobLog request) {
  Connection* asker = &connection;
  auto id = std::make_shared<JobLogs::ReaderId>(0);
  *id = jobs_.logs().read(std::move(request), [this, asker, ticket, id](const wire::JobLogPieces& pieces) {
    if (auto found = pending_.find(asker); found != pending_.end()) found->second.readers.erase(*id);
    asker->send(ControlType::kJobLogPieces, ticket, pieces);
  });
  if (*id != 0) pending_[asker].readers.insert(*id);
}

void JobRequests::connection_ended(Connection& connection) {
  auto found = pending_.extract(&connection);
  if (!found) return;
  for (JobCarrier::WaitId wait : found.mapped().waits) jobs_.cancel_wait(wait);
  for (JobLogs::ReaderId reader : found.mapped().readers) jobs_.logs().cancel(reader);
}

void JobRequests::answer(Connection& connection, std::uint64_t ticket, const Result<std::string>& json) {
  wire::JobAnswer message;
  if (json.is_ok()) {
    message.json = json.value();
  } else {
    message.code = json.status().code();
    message.message = json.status().message();
  }
  connection.send(ControlType::kJobAnswer, ticket, message);
}

}  // namespace fray::node
