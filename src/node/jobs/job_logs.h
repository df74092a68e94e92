// JobLogs: answers readers of the output of jobs, at once or when there is more output.
//
// Nothing is kept in memory: each answer is read from the files of the supervisor. Followers are woken by inotify.
//
// Threading:  the node's loop.
// Ownership:  owns the inotify descriptor and the readers that wait. Table and folders must outlive it.
// Failure:    without inotify (too many instances) followers look ten times a second. What is missing from a stream is said
//             by the piece of output after the gap.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "event/loop.h"
#include "job/job_table.h"
#include "node/jobs/job_folders.h"
#include "os/fd.h"
#include "wire/job.h"

namespace fray::node {

class JobLogs {
 public:
  using OnPieces = std::function<void(const wire::JobLogPieces& pieces)>;
  using ReaderId = std::uint64_t;  // never 0

  JobLogs(event::Loop& loop, const job::JobTable& table, const JobFolders& folders);
  ~JobLogs();

  wire::JobLogOpened open(const wire::OpenJobLog& request) const;
  // Answers at once and returns 0, or answers later, once.
  ReaderId read(wire::ReadJobLog request, OnPieces on_pieces);
  void cancel(ReaderId reader);
  // To be called when the job has begun another attempt, and when its attempt or the job has ended.
  void changed(const std::string& job);

 private:
  struct Reader {
    wire::ReadJobLog request;
    OnPieces on_pieces;
    int watch = -1;
  };

  wire::JobLogPieces look(const wire::ReadJobLog& request) const;
  static bool is_answer(const wire::JobLogPieces& pieces, const wire::ReadJobLog& request);
  void watch_folder(Reader& reader);
  void unwatch(const Reader& reader);
  void files_changed();
  void try_again(ReaderId id);
  void look_now_and_then();

  event::Loop& loop_;
  const job::JobTable& table_;
  const JobFolders& folders_;
  os::Fd inotify_;
  std::map<ReaderId, Reader> readers_;
  ReaderId last_reader_ = 0;
  event::TimerId timer_ = 0;
};

}  // namespace fray::node
