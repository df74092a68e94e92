#include "node/database.h"

#include <cerrno>

#include <fmt/format.h>
#include <sqlite3.h>

#include "base/fault.h"

namespace fray::node {

namespace {

StatusCode code_of(int code) {
  if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) return StatusCode::kCorruption;
  return code == SQLITE_FULL ? StatusCode::kResourceExhausted : StatusCode::kIoError;
}

}  // namespace

Statement::~Statement() { sqlite3_finalize(statement_); }

Statement& Statement::operator=(Statement&& other) noexcept {
  std::swap(database_, other.database_);
  std::swap(statement_, other.statement_);
  std::swap(bound_, other.bound_);
  return *this;
}

Statement& Statement::bind(std::uint64_t number) {
  sqlite3_bind_int64(statement_, ++bound_, static_cast<sqlite3_int64>(number));
  return *this;
}

Statement& Statement::bind(std::string_view text) {
  sqlite3_bind_text64(statement_, ++bound_, text.data() == nullptr ? "" : text.data(), text.size(), SQLITE_STATIC,
                      SQLITE_UTF8);
  return *this;
}

Statement& Statement::bind_bytes(std::string_view bytes) {
  sqlite3_bind_blob64(statement_, ++bound_, bytes.data() == nullptr ? "" : bytes.data(), bytes.size(), SQLITE_STATIC);
  return *this;
}

Result<bool> Statement::next() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  Status status = code == SQLITE_DONE ? Status::ok() : database_->failed("cannot use");
  reset();
  if (!status.is_ok()) return status;
  return false;
}

Status Statement::run() {
  while (true) {
    auto more = next();
    if (!more.is_ok()) return more.status();
    if (!*more) return Status::ok();
  }
}

void Statement::reset() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
  bound_ = 0;
}

std::uint64_t Statement::number(int column) const {
  return static_cast<std::uint64_t>(sqlite3_column_int64(statement_, column));
}

std::string Statement::bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  return data == nullptr ? std::string() : std::string(static_cast<const char*>(data), size);
}

Database::~Database() { sqlite3_close(database_); }

Result<std::unique_ptr<Database>> Database::open(const std::string& path, const Kind& kind) {
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  std::unique_ptr<Database> database(new Database(opened, kind));
  if (code != SQLITE_OK) return database->failed("cannot open");
  FRAY_RETURN_IF_ERROR(database->make_ready());
  return database;
}

Status Database::make_ready() {
  sqlite3_extended_result_codes(database_, 0);
  FRAY_RETURN_IF_ERROR(run("PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL"));
  FRAY_ASSIGN_OR_RETURN(std::string text, text_of("PRAGMA quick_check(1)"));
  if (text != "ok") return Status(StatusCode::kCorruption, "it is damaged: " + text);
  FRAY_ASSIGN_OR_RETURN(text, text_of("PRAGMA user_version"));
  if (text != "0" && text != std::to_string(kind_.format)) {
    return Status(StatusCode::kCorruption, fmt::format("its format is {}, this release knows {}", text, kind_.format));
  }
  FRAY_RETURN_IF_ERROR(run(kind_.schema));
  return run(fmt::format("PRAGMA user_version={}", kind_.format).c_str());
}

Status Database::run(const char* sql) {
  return sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) == SQLITE_OK ? Status::ok() : failed("cannot use");
}

Result<std::string> Database::text_of(const char* sql) {
  FRAY_ASSIGN_OR_RETURN(Statement statement, prepare(sql));
  FRAY_ASSIGN_OR_RETURN(bool found, statement.next());
  return found ? statement.bytes(0) : std::string();
}

Status Database::failed(const char* what) {
  const int code = sqlite3_errcode(database_) & 0xff;
  return Status(code_of(code), fmt::format("{} {}: {}", what, kind_.what, sqlite3_errmsg(database_)));
}

Result<Statement> Database::prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(database_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK) {
    return failed("cannot use");
  }
  return Statement(*this, statement);
}

Status Database::change(const std::function<Status()>& body) {
  if (!broken_.is_ok()) return broken_;
  if (FRAY_FAULT("records_full", ENOSPC)) return Status(StatusCode::kResourceExhausted, "the disk is full");
  Status status = run("BEGIN IMMEDIATE");
  if (status.is_ok()) status = body();
  if (status.is_ok() && FRAY_FAULT("records_sync", EIO)) status = Status(StatusCode::kIoError, "disk I/O error");
  if (status.is_ok()) status = run("COMMIT");
  if (status.is_ok()) return status;
  sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
  // After a failed fsync the content of the disk is unknown, and a repeated fsync would report success.
  if (status.code() == StatusCode::kIoError) broken_ = status;
  return status;
}

}  // namespace fray::node
