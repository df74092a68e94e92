#include "node/jobs/job_requests.h"

#include <memory>
#include <utility>

namespace fray::node {

using wire::ControlType;

// Tries all jobs; returns the last failure.
template <typename Verb>
Status JobRequests::each(const Ids& ids, Verb verb) {
  Status done;
  for (const std::string& name : ids) {
    FRAY_ASSIGN_OR_RETURN(std::string id, jobs_.find(name));
    if (Status one = verb(id); !one.is_ok()) done = one;
  }
  return done;
}

Result<JobInfo> JobRequests::submit(JobSpec spec, pid_t submitter) {
  FRAY_ASSIGN_OR_RETURN(std::string id, jobs_.submit(std::move(spec), submitter));
  FRAY_ASSIGN_OR_RETURN(Infos infos, jobs_.infos({id}));
  return std::move(infos.front());
}

Result<JobRequests::Infos> JobRequests::stop(const Ids& ids) {
  FRAY_RETURN_IF_ERROR(jobs_.infos(ids).status());  // where one id is unknown, no job is stopped
  FRAY_RETURN_IF_ERROR(each(ids, [this](const std::string& id) { return jobs_.stop(id); }));
  return jobs_.infos(ids);
}

Result<JobRequests::Infos> JobRequests::remove(const Ids& ids) {
  FRAY_ASSIGN_OR_RETURN(Infos found, jobs_.infos(ids));
  FRAY_RETURN_IF_ERROR(each(ids, [this](const std::string& id) { return jobs_.remove(id); }));
  return found;
}

Status JobRequests::handle(Connection& connection, ControlType type, wire::Incoming& frame) {
  const std::uint64_t ticket = frame.header.id;
  if (type == ControlType::kSubmitJob) {
    FRAY_ASSIGN_OR_RETURN(wire::SubmitJob message, wire::decode<wire::SubmitJob>(frame.body));
    Result<JobInfo> job = submit(std::move(message.spec), connection.pid);
    answer(connection, ticket, job.is_ok() ? Result<Infos>(Infos{*job}) : job.status());
    return Status::ok();
  }
  if (type == ControlType::kOpenJobLog) {
    FRAY_ASSIGN_OR_RETURN(wire::OpenJobLog message, wire::decode<wire::OpenJobLog>(frame.body));
    connection.send(ControlType::kJobLogOpened, ticket, jobs_.logs().open(message));
    return Status::ok();
  }
  if (type == ControlType::kReadJobLog) {
    FRAY_ASSIGN_OR_RETURN(wire::ReadJobLog message, wire::decode<wire::ReadJobLog>(frame.body));
    read_log(connection, ticket, std::move(message));
    return Status::ok();
  }
  FRAY_ASSIGN_OR_RETURN(wire::JobNames names, wire::decode<wire::JobNames>(frame.body));
  if (type == ControlType::kWaitJobs) {
    wait(connection, ticket, names);
    return Status::ok();
  }
  answer(connection, ticket,
         type == ControlType::kStopJob     ? stop(names.ids)
         : type == ControlType::kDeleteJob ? remove(names.ids)
                                           : jobs_.infos(names.ids));
  return Status::ok();
}

void JobRequests::wait(Connection& connection, std::uint64_t ticket, const wire::JobNames& names) {
  Connection* asker = &connection;
  auto id = std::make_shared<JobCarrier::WaitId>(0);
  Result<JobCarrier::WaitId> begun =
      jobs_.wait(names.ids, connection.pid, [this, asker, ticket, id](Result<Infos> jobs) {
        if (auto found = pending_.find(asker); found != pending_.end()) found->second.waits.erase(*id);
        answer(*asker, ticket, std::move(jobs));
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

void JobRequests::answer(Connection& connection, std::uint64_t ticket, Result<Infos> jobs) {
  wire::JobAnswer message;
  message.code = jobs.status().code();
  message.message = jobs.status().message();
  if (jobs.is_ok()) message.jobs = std::move(jobs).value();
  connection.send(ControlType::kJobAnswer, ticket, message);
}

}  // namespace fray::node
