// NodeJobs: the jobs of the node that a link leads to, asked for with the frames that `fray job` sends.
//
// Threading:  the loop's.
// Ownership:  refers to the link. A log has a link of its own, so that a reader who leaves takes its question along.
// Failure:    as the node says it.
#pragma once

#include <string>

#include "http/job_service.h"
#include "http/node_link.h"

namespace fray::http {

class NodeJobs : public JobService {
 public:
  NodeJobs(event::Loop& loop, NodeLink& link, std::string socket_path)
      : loop_(loop), link_(link), socket_path_(std::move(socket_path)) {}

  void submit(JobOrder order, Callback callback) override;
  void get(const std::string& id, Callback callback) override;
  void stop(const std::string& id, Callback callback) override;
  void remove(const std::string& id, Callback callback) override;
  std::unique_ptr<LogReader> read_log(const std::string& id, LogPlace place) override;

 private:
  void ask(wire::ControlType type, const std::string& id, Callback callback);

  event::Loop& loop_;
  NodeLink& link_;
  std::string socket_path_;
};

}  // namespace fray::http
