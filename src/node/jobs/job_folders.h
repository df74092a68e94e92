// JobFolders: the folders of a node's jobs, as src/supervisor/order.h lays them out.
//
//   <root>/<id>/spec.json     the record as it was accepted, without values of variables
//               environment   variables, until the job has ended; mode 0600
//               call          a pickled call, until the job has ended
//               in_use        entries of the environments' cache, one a line, until the job has ended
//               record.json   the record as the job ended
//               attempt-<n>/
//
// Threading:  the node's loop.
// Ownership:  the folders on the disk outlive this object.
// Failure:    make() leaves nothing behind when it fails.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "job/job_record.h"
#include "model/job_spec.h"

namespace fray::node {

using JobVariables = std::vector<std::pair<std::string, std::string>>;

class JobFolders {
 public:
  // `root` exists.
  explicit JobFolders(std::string root) : root_(std::move(root)) {}

  const std::string& root() const { return root_; }
  std::string path(const std::string& id) const { return root_ + "/" + id; }
  std::string environment_path(const std::string& id) const { return path(id) + "/environment"; }
  std::string call_path(const std::string& id) const { return path(id) + "/call"; }

  // The record is on the disk when this returns.
  Status make(const JobSpec& spec, const job::JobRecord& accepted);
  // The variables that were kept; others in their place, for the attempts to come: returns the file's path.
  Result<JobVariables> environment(const std::string& id) const;
  Result<std::string> write_changed(const std::string& id, const JobVariables& environment) const;
  void keep_in_use(const std::string& id, const std::vector<std::string>& entries) const;
  std::vector<std::string> in_use(const std::string& id) const;
  void keep_end(const job::JobRecord& record);
  void remove(const std::string& id);
  // The records that the folders hold: of jobs as they ended or were accepted, with the attempts that began.
  std::vector<job::JobRecord> read_all() const;
  // Folders that a node left which was killed while it took a job, or removed one.
  void remove_unknown(const std::set<std::string>& known);

 private:
  Status fill(const JobSpec& spec, const job::JobRecord& accepted);

  std::string root_;
};

}  // namespace fray::node
