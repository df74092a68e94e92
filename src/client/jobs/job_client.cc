#include "client/jobs/job_client.h"

namespace fray::client {

using wire::ControlType;

template <typename Reply, typename Message>
Result<Reply> JobClient::exchange(ControlType type, const Message& message, const Patience& patience) {
  Result<door::Answer> answer = node_.ask(type, message, Reply::kType, patience);
  if (!answer.is_ok() && answer.status().code() == StatusCode::kTimedOut && patience.deadline) {
    return Status(StatusCode::kTimedOut, "the time is up");
  }
  if (!answer.is_ok()) return answer.status();
  return wire::decode<Reply>(answer->body);
}

Result<JobClient::Infos> JobClient::ask(ControlType type, const Ids& ids, const Patience& patience) {
  FRAY_ASSIGN_OR_RETURN(auto answer, exchange<wire::JobAnswer>(type, wire::JobNames{ids}, patience));
  if (answer.code != StatusCode::kOk) return Status(answer.code, answer.message);
  return std::move(answer.jobs);
}

Result<JobInfo> JobClient::submit(JobSpec spec, const Patience& patience) {
  const wire::SubmitJob message{std::move(spec)};
  FRAY_ASSIGN_OR_RETURN(auto answer, exchange<wire::JobAnswer>(ControlType::kSubmitJob, message, patience));
  if (answer.code != StatusCode::kOk) return Status(answer.code, answer.message);
  if (answer.jobs.size() == 1) return std::move(answer.jobs.front());
  return Status(StatusCode::kCorruption, "the node's answer to a submission does not have one job");
}

class JobClient::Log : public cluster::JobLog {
 public:
  Log(JobClient& jobs, LogWalk walk) : jobs_(jobs), walk_(std::move(walk)) {}

  Status open(const Patience& patience) {
    FRAY_ASSIGN_OR_RETURN(auto answer,
                          jobs_.exchange<wire::JobLogOpened>(ControlType::kOpenJobLog, walk_.to_open(), patience));
    return walk_.opened(std::move(answer));
  }

  Result<LogBatch> next(const Patience& patience) override {
    while (!walk_.is_over()) {
      if (walk_.has_to_open()) FRAY_RETURN_IF_ERROR(open(patience));
      FRAY_ASSIGN_OR_RETURN(auto answer,
                            jobs_.exchange<wire::JobLogPieces>(ControlType::kReadJobLog, walk_.to_read(), patience));
      FRAY_ASSIGN_OR_RETURN(LogBatch batch, walk_.read(std::move(answer)));
      if (!batch.pieces.empty()) return batch;
    }
    return LogBatch();
  }

 private:
  JobClient& jobs_;
  LogWalk walk_;
};

Result<std::unique_ptr<cluster::JobLog>> JobClient::open_log(const cluster::LogRequest& request,
                                                             const Patience& patience) {
  wire::OpenJobLog from;
  from.id = request.id;
  from.attempt = request.attempt;
  from.tail_lines = request.tail_lines.value_or(wire::OpenJobLog::kAll);
  from.since_unix_ns = request.since_unix_ns;
  auto log = std::make_unique<Log>(*this, LogWalk(std::move(from), request.follow));
  FRAY_RETURN_IF_ERROR(log->open(patience));
  return std::unique_ptr<cluster::JobLog>(std::move(log));
}

}  // namespace fray::client
