// JobRecords: the records of jobs on the disk: the database, and when which record is written to it.
//
//   FRAY_RETURN_IF_ERROR(records.keep_accepted(spec));  // before the submitter is answered
//   records.keep(commands);                             // before the commands of the table are carried out
//
// Threading:  the node's loop.
// Ownership:  owns the database; loop, table and folders must outlive it.
// Failure:    keep_accepted() leaves nothing when it fails. Later records that cannot be written are tried again each
//             second while the jobs go on; trouble() says so.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "event/loop.h"
#include "job/job_table.h"
#include "node/jobs/job_folders.h"
#include "node/jobs/job_store.h"

namespace fray::node {

class JobRecords {
 public:
  // Not `kept`: there is no database, and the jobs end with the node.
  JobRecords(event::Loop& loop, const job::JobTable& table, JobFolders& folders, bool kept)
      : loop_(loop), table_(table), folders_(folders), kept_(kept) {}
  ~JobRecords();
  JobRecords(const JobRecords&) = delete;
  JobRecords& operator=(const JobRecords&) = delete;

  // Makes the folder of jobs and opens the database, once: before the first job, so that a home without jobs has none.
  Status make_ready();
  // The records of former nodes. A row that cannot be read is taken from the job's folder; when the database is lost, all
  // records are.
  Result<std::vector<job::JobRecord>> read();
  Status keep_accepted(const JobSpec& spec);
  // Writes the records on which a command depends now, and the others soon.
  void keep(const std::vector<job::Command>& commands);
  void flush();
  void removed(const std::string& id);

  // What is wrong with the records, and why they had to be rebuilt; empty when nothing is wrong.
  const std::string& trouble() const { return trouble_; }
  const std::string& rebuilt() const { return rebuilt_; }

 private:
  Result<std::vector<job::JobRecord>> read_all();
  Result<std::vector<job::JobRecord>> rebuild();

  event::Loop& loop_;
  const job::JobTable& table_;
  JobFolders& folders_;
  const bool kept_;
  std::unique_ptr<JobStore> store_;
  bool ready_ = false;
  std::map<std::string, std::string> written_;  // by living job: the record as it is on the disk
  std::set<std::string> unwritten_;             // records that are to be written
  event::TimerId flush_timer_ = 0;
  std::string trouble_;
  std::string rebuilt_;
};

}  // namespace fray::node
