// NodeView: what other parts of the node's process, such as its HTTP API, may ask the node. They see nothing else of it.
//
// Threading:  the node's loop.
// Ownership:  the node must outlive those that ask. Whoever asks for output that is not there yet has to cancel the
//             question.
// Failure:    kNotFound for a job that is not there, kAlreadyExists for an id that is taken, kInvalidArgument for what cannot
//             be, kIoError when a job, or a change of a queue, cannot be recorded.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "model/job_spec.h"
#include "node/clusters/clusters.h"
#include "node/dashboard/dashboard_view.h"
#include "queue/queue_commands.h"
#include "wire/job.h"

namespace fray::node {

class NodeView {
 public:
  using Ids = std::vector<std::string>;
  using Infos = std::vector<JobInfo>;
  using ReaderId = std::uint64_t;
  using OnPieces = std::function<void(const wire::JobLogPieces& pieces)>;

  virtual ~NodeView() = default;

  // JSON, as `fray status --json` has it.
  virtual std::string status() = 0;
  // Returns once the job is sure to survive the node. The spec is whole, and has passed its check().
  virtual Result<JobInfo> submit_job(JobSpec spec) = 0;
  // Each id may be the beginning of one. No ids mean all jobs in get_jobs(), and no job elsewhere.
  virtual Result<Infos> get_jobs(const Ids& ids) = 0;
  virtual Result<Infos> stop_jobs(const Ids& ids) = 0;
  virtual Result<Infos> remove_jobs(const Ids& ids) = 0;

  virtual wire::JobLogOpened open_job_log(const wire::OpenJobLog& request) = 0;
  // Calls back once: at once, in which case 0 is returned, or later.
  virtual ReaderId read_job_log(wire::ReadJobLog request, OnPieces on_pieces) = 0;
  virtual void cancel_read(ReaderId reader) = 0;

  using OnQueueAnswer = std::function<void(Result<queue::Answer> answer)>;
  // Calls back once, later: when the change that the answer reports is sure to survive the node.
  virtual queue::AskId ask_queue(queue::Request request, OnQueueAnswer on_answer) = 0;
  virtual void withdraw_from_queue(queue::AskId ask) = 0;

  virtual DashboardView& dashboard() = 0;
  virtual Clusters& clusters() = 0;
};

}  // namespace fray::node
