// JobStore: the records of jobs in a database, one row a job, each written before the node acts on it.
//
// A database that SQLite finds damaged, or that a later release wrote, is moved aside (`jobs.db.damaged-<time>`). The caller
// rebuilds the records from the jobs' folders, as it does when there is no database.
//
// Threading:  the node's loop.
// Ownership:  owns the database.
// Failure:    as Database.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "node/database.h"

namespace fray::node {

class JobStore {
 public:
  struct Row {
    std::string id;
    std::string record;
  };

  // Opens the database in `folder`, which exists. `*rebuilt` says why there are no records: the database was moved aside, or
  // was not there; else it is empty.
  static Result<std::unique_ptr<JobStore>> open(const std::string& folder, std::string* rebuilt);
  JobStore(const JobStore&) = delete;
  JobStore& operator=(const JobStore&) = delete;

  Result<std::vector<Row>> read();
  Status keep(const std::vector<Row>& rows);
  Status remove(const std::string& id);

 private:
  explicit JobStore(std::unique_ptr<Database> database) : database_(std::move(database)) {}

  static Result<std::unique_ptr<JobStore>> try_open(const std::string& path);

  std::unique_ptr<Database> database_;
  Statement read_;
  Statement keep_;
  Statement remove_;
};

}  // namespace fray::node
