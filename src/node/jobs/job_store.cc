#include "node/jobs/job_store.h"

#include <cerrno>
#include <cstdio>
#include <ctime>

#include <fmt/format.h>
#include <unistd.h>

namespace fray::node {

namespace {

constexpr const char* kJobsName = "/jobs.db";
constexpr Database::Kind kJobs{
    "the records of jobs", 1,
    "CREATE TABLE IF NOT EXISTS job (id TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID"};

}  // namespace

Result<std::unique_ptr<JobStore>> JobStore::open(const std::string& folder, std::string* rebuilt) {
  const std::string path = folder + kJobsName;
  rebuilt->clear();
  const bool was_there = ::access(path.c_str(), F_OK) == 0;
  auto store = try_open(path);
  if (store.is_ok() && !was_there) *rebuilt = path + " was not there";
  if (store.is_ok() || store.status().code() != StatusCode::kCorruption) return store;
  const std::string aside = fmt::format("{}.damaged-{}", path, std::time(nullptr));
  if (::rename(path.c_str(), aside.c_str()) != 0) return Status::io_error("cannot move aside " + path, errno);
  for (const char* rest : {"-wal", "-shm"}) ::rename((path + rest).c_str(), (aside + rest).c_str());
  *rebuilt = fmt::format("{} was damaged ({}) and lies in {} now", path, store.status().message(), aside);
  return try_open(path);
}

Result<std::unique_ptr<JobStore>> JobStore::try_open(const std::string& path) {
  FRAY_ASSIGN_OR_RETURN(std::unique_ptr<Database> database, Database::open(path, kJobs));
  std::unique_ptr<JobStore> store(new JobStore(std::move(database)));
  FRAY_ASSIGN_OR_RETURN(store->read_, store->database_->prepare("SELECT id, record FROM job"));
  FRAY_ASSIGN_OR_RETURN(store->keep_, store->database_->prepare("INSERT OR REPLACE INTO job VALUES (?, ?)"));
  FRAY_ASSIGN_OR_RETURN(store->remove_, store->database_->prepare("DELETE FROM job WHERE id = ?"));
  return store;
}

Result<std::vector<JobStore::Row>> JobStore::read() {
  std::vector<Row> rows;
  while (true) {
    FRAY_ASSIGN_OR_RETURN(bool more, read_.next());
    if (!more) return rows;
    rows.push_back({read_.bytes(0), read_.bytes(1)});
  }
}

Status JobStore::keep(const std::vector<Row>& rows) {
  return database_->change([&] {
    for (const Row& row : rows) FRAY_RETURN_IF_ERROR(keep_.bind(row.id).bind(row.record).run());
    return Status::ok();
  });
}

Status JobStore::remove(const std::string& id) {
  return database_->change([&] { return remove_.bind(id).run(); });
}

}  // namespace fray::node
