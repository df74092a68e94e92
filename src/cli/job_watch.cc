#include "cli/job_watch.h"

#include "base/log_line.h"
#include "cli/exit_codes.h"
#include "cli/interrupt.h"
#include "cli/job_text.h"

namespace fray::cli {

int watch_failed(const std::string& command, const Status& status, const std::string& id, const OpenCluster& cluster) {
  if (status.code() == StatusCode::kUnavailable) {
    const int code = report_failure(command, status);
    log_line(
        "the job may go on without it. Next:\n"
        "  fray job logs -f {0}{1}   follows it again, when there is an answer\n",
        id, cluster.option);
    return code;
  }
  if (status.code() != StatusCode::kCancelled) return report_failure(command, status);
  log_line(
      "\nthe job goes on. Next:\n"
      "  fray job logs -f {0}{1}   follows it again\n"
      "  fray job stop {0}{1}      ends it\n",
      id, cluster.option);
  return kExitInterrupted;
}

int watch_job(const std::string& command, const OpenCluster& cluster, const cluster::LogRequest& request,
              JobOutput::Style style) {
  const Patience patience{{}, was_interrupted};
  auto log = cluster.jobs->open_log(request, patience);
  const Status printed = log.is_ok() ? JobOutput(std::move(style)).print(**log, patience) : log.status();
  if (!printed.is_ok()) return watch_failed(command, printed, request.id, cluster);
  // The end of an attempt is not that of the job.
  if (!request.follow || request.attempt != 0) return kExitOk;
  auto jobs = cluster.jobs->wait({request.id}, patience);
  if (!jobs.is_ok()) return watch_failed(command, jobs.status(), request.id, cluster);
  log_line("{}\n", job_end_line(jobs->front()));
  return exit_code_of_job(jobs->front());
}

}  // namespace fray::cli
