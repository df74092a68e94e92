// JobLog: reads a job's output, from attempt to attempt, to the job's end. NodeJobLog: that of a job of this node;
// ClusterJobLog: that of a job of another cluster.
//
// Threading:  the loop's.
// Ownership:  the node must outlive it. Its destructor withdraws the question that waits.
// Failure:    the callback gets the status: kNotFound for a job or a replica that is not there.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/jobs/log_walk.h"
#include "event/loop.h"
#include "node/clusters/clusters.h"
#include "node/node_view.h"
#include "wire/job.h"

namespace fray::http {

// Where somebody begins to read.
struct LogPlace {
  std::uint32_t replica = 0;
  std::uint8_t stream = 0;  // 1: standard output, 2: standard error, 0: both, of all replicas, in no order between them
  std::uint64_t offset = 0;
  std::uint64_t tail_lines = wire::OpenJobLog::kAll;  // of each stream, where there is no offset
  std::uint32_t attempt = 0;  // that one alone, to its end; 0: the newest, and those that come after it
};

struct LogPieces {
  std::vector<wire::LogPiece> pieces;
  bool ended = false;  // with the job, or with the attempt that was chosen
};

class JobLog {
 public:
  using Callback = std::function<void(Result<LogPieces>)>;

  virtual ~JobLog() = default;
  // `wait`: answered once there is something, or the end. Later, on the loop, never from inside the call: a long log that
  // was written already keeps nobody else waiting. One question at a time; the callback may be the end of this.
  virtual void next(bool wait, Callback callback) = 0;
};

class NodeJobLog : public JobLog {
 public:
  NodeJobLog(event::Loop& loop, node::NodeView& node, std::string id, LogPlace place)
      : loop_(loop),
        node_(node),
        place_(place),
        walk_({.id = std::move(id), .attempt = place.attempt, .tail_lines = place.tail_lines}, false) {}
  NodeJobLog(const NodeJobLog&) = delete;
  NodeJobLog& operator=(const NodeJobLog&) = delete;
  ~NodeJobLog() override;

  void next(bool wait, Callback callback) override;

 private:
  void open();
  void read();
  void arrived(wire::JobLogPieces message);
  void answer(Result<LogPieces> pieces) { std::exchange(callback_, {})(std::move(pieces)); }

  event::Loop& loop_;
  node::NodeView& node_;
  LogPlace place_;
  client::LogWalk walk_;
  Callback callback_;
  event::TimerId timer_ = 0;
  node::NodeView::ReaderId reader_ = 0;  // of the question that the node has not answered
  bool asking_ = false;
  std::optional<wire::JobLogPieces> at_once_;  // what it answered before read_job_log() returned
};

// The program that prints the log starts with the first question, which says whether it is to follow. An offset counts what
// this has told, which with `tail_lines` begins with those.
class ClusterJobLog : public JobLog {
 public:
  ClusterJobLog(node::Clusters& clusters, event::Loop& loop, std::string cluster, std::string id, LogPlace place)
      : clusters_(clusters), loop_(loop), cluster_(std::move(cluster)), id_(std::move(id)), place_(place) {}
  ClusterJobLog(const ClusterJobLog&) = delete;
  ClusterJobLog& operator=(const ClusterJobLog&) = delete;
  ~ClusterJobLog() override { loop_.cancel(timer_); }

  void next(bool wait, Callback callback) override;

 private:
  Status open(bool follow);
  void read(Callback callback);
  void arrived(Result<node::ClusterLog::Lines> lines, const Callback& callback);

  node::Clusters& clusters_;
  event::Loop& loop_;
  const std::string cluster_;
  const std::string id_;
  const LogPlace place_;
  std::unique_ptr<node::ClusterLog> log_;
  std::uint64_t offset_ = 0;
  event::TimerId timer_ = 0;
};

}  // namespace fray::http
