// JobStore: the records of jobs in an SQLite database, one row a job, written before anything follows from them.
//
// A database that SQLite finds damaged, or that a later release wrote, is moved aside (`jobs.db.damaged-<time>`). The caller
// rebuilds it from the jobs' folders, as one that is not there.
//
// Threading:  the node's loop; a commit syncs, which takes a fraction of a millisecond on a disk with a cache.
// Ownership:  owns the database.
// Failure:    keep() is all or nothing. kResourceExhausted when the disk is full: nothing is changed, and later calls may
//             succeed. kIoError when the disk failed: then nothing is certain, and every later call fails.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace fray::node {

class JobStore {
 public:
  struct Row {
    std::string id;
    std::string record;
  };

  // `*rebuilt` says why there are no records: the database was moved aside, or was not there; else it is empty. In the
  // folder `folder`, which exists.
  static Result<std::unique_ptr<JobStore>> open(const std::string& folder, std::string* rebuilt);
  ~JobStore();
  JobStore(const JobStore&) = delete;
  JobStore& operator=(const JobStore&) = delete;

  Result<std::vector<Row>> read();
  Status keep(const std::vector<Row>& rows);
  Status remove(const std::string& id);

 private:
  explicit JobStore(sqlite3* database) : database_(database) {}

  static Result<std::unique_ptr<JobStore>> try_open(const std::string& path);
  Status prepare();
  Status run(const char* sql);
  Status failed(const char* what);
  Status step(sqlite3_stmt* statement, const std::vector<const std::string*>& values);

  sqlite3* database_;
  sqlite3_stmt* keep_ = nullptr;
  sqlite3_stmt* remove_ = nullptr;
  Status broken_;  // once the disk has failed
};

}  // namespace fray::node
