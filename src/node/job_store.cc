#include "node/job_store.h"

#include <cerrno>
#include <cstdio>
#include <ctime>

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include "base/fault.h"

namespace fray::node {

namespace {

constexpr int kFormat = 1;
constexpr const char* kName = "/jobs.db";

struct Statement {
  sqlite3_stmt* value = nullptr;
  ~Statement() { sqlite3_finalize(value); }
};

bool is_damage(int code) { return code == SQLITE_CORRUPT || code == SQLITE_NOTADB; }

StatusCode code_of(int code) {
  if (is_damage(code)) return StatusCode::kCorruption;
  return code == SQLITE_FULL ? StatusCode::kResourceExhausted : StatusCode::kIoError;
}

int text_of_first_row(sqlite3* database, const char* sql, std::string* text) {
  Statement statement;
  int code = sqlite3_prepare_v2(database, sql, -1, &statement.value, nullptr);
  if (code == SQLITE_OK) code = sqlite3_step(statement.value);
  if (code != SQLITE_ROW) return code;
  *text = reinterpret_cast<const char*>(sqlite3_column_text(statement.value, 0));
  return SQLITE_OK;
}

}  // namespace

JobStore::~JobStore() {
  sqlite3_finalize(keep_);
  sqlite3_finalize(remove_);
  sqlite3_close(database_);
}

Result<std::unique_ptr<JobStore>> JobStore::open(const std::string& folder, std::string* rebuilt) {
  const std::string path = folder + kName;
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
  sqlite3* database = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  std::unique_ptr<JobStore> store(new JobStore(database));
  if (code != SQLITE_OK) return store->failed("cannot open");
  FRAY_RETURN_IF_ERROR(store->prepare());
  return store;
}

Status JobStore::prepare() {
  sqlite3_extended_result_codes(database_, 0);
  FRAY_RETURN_IF_ERROR(run("PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL"));
  std::string text;
  int code = text_of_first_row(database_, "PRAGMA quick_check(1)", &text);
  if (code != SQLITE_OK) return failed("cannot check");
  if (text != "ok") return Status(StatusCode::kCorruption, "it is damaged: " + text);
  if (text_of_first_row(database_, "PRAGMA user_version", &text) != SQLITE_OK) return failed("cannot read");
  if (text != "0" && text != std::to_string(kFormat)) {
    return Status(StatusCode::kCorruption, fmt::format("its format is {}, this release knows {}", text, kFormat));
  }
  FRAY_RETURN_IF_ERROR(run("CREATE TABLE IF NOT EXISTS job (id TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID"));
  FRAY_RETURN_IF_ERROR(run(fmt::format("PRAGMA user_version={}", kFormat).c_str()));
  if (sqlite3_prepare_v3(database_, "INSERT OR REPLACE INTO job VALUES (?, ?)", -1, SQLITE_PREPARE_PERSISTENT, &keep_,
                         nullptr) != SQLITE_OK ||
      sqlite3_prepare_v3(database_, "DELETE FROM job WHERE id = ?", -1, SQLITE_PREPARE_PERSISTENT, &remove_, nullptr) !=
          SQLITE_OK) {
    return failed("cannot use");
  }
  return Status::ok();
}

Status JobStore::run(const char* sql) {
  return sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) == SQLITE_OK ? Status::ok() : failed("cannot use");
}

Status JobStore::failed(const char* what) {
  const int code = sqlite3_errcode(database_) & 0xff;
  return Status(code_of(code), fmt::format("{} the records of jobs: {}", what, sqlite3_errmsg(database_)));
}

Status JobStore::step(sqlite3_stmt* statement, const std::vector<const std::string*>& values) {
  int column = 0;
  for (const std::string* value : values) {
    sqlite3_bind_text(statement, ++column, value->data(), static_cast<int>(value->size()), SQLITE_STATIC);
  }
  const int code = sqlite3_step(statement);
  Status status = code == SQLITE_DONE ? Status::ok() : failed("cannot write");
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  return status;
}

Result<std::vector<JobStore::Row>> JobStore::read() {
  Statement statement;
  if (sqlite3_prepare_v2(database_, "SELECT id, record FROM job", -1, &statement.value, nullptr) != SQLITE_OK) {
    return failed("cannot read");
  }
  std::vector<Row> rows;
  int code = SQLITE_OK;
  while ((code = sqlite3_step(statement.value)) == SQLITE_ROW) {
    auto text = [&](int column) {
      return std::string(reinterpret_cast<const char*>(sqlite3_column_text(statement.value, column)),
                         static_cast<std::size_t>(sqlite3_column_bytes(statement.value, column)));
    };
    rows.push_back({text(0), text(1)});
  }
  if (code != SQLITE_DONE) return failed("cannot read");
  return rows;
}

Status JobStore::keep(const std::vector<Row>& rows) {
  if (!broken_.is_ok()) return broken_;
  if (FRAY_FAULT("records_full", ENOSPC)) return Status(StatusCode::kResourceExhausted, "the disk is full");
  Status status = run("BEGIN IMMEDIATE");
  for (const Row& row : rows) {
    if (status.is_ok()) status = step(keep_, {&row.id, &row.record});
  }
  if (status.is_ok() && FRAY_FAULT("records_sync", EIO)) status = Status(StatusCode::kIoError, "disk I/O error");
  if (status.is_ok()) status = run("COMMIT");
  if (status.is_ok()) return status;
  sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
  // What an fsync that failed has left on the disk is not known, and trying again would only hide that.
  if (status.code() == StatusCode::kIoError) broken_ = status;
  return status;
}

Status JobStore::remove(const std::string& id) {
  if (!broken_.is_ok()) return broken_;
  return step(remove_, {&id});
}

}  // namespace fray::node
