// Database: a SQLite database of the node: one file, which no other process has open, and changes that are either wholly
// on the disk or not made.
//
//   FRAY_ASSIGN_OR_RETURN(auto database, Database::open(path, {"the records of jobs", 1, "CREATE TABLE ..."}));
//   FRAY_ASSIGN_OR_RETURN(Statement keep, database->prepare("INSERT INTO job VALUES (?, ?)"));
//   database->change([&] { return keep.bind(id).bind(record).run(); });
//
// Threading:  one thread at a time; a change syncs, which takes a fraction of a millisecond on a disk with a cache.
// Ownership:  owns the connection; its statements must go before it.
// Failure:    kCorruption for what SQLite finds damaged, and for another release's format. A change is all or nothing:
//             kResourceExhausted when the disk is full: nothing is changed, and later changes may succeed. kIoError when
//             the disk failed: then nothing is certain, and every later change fails.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace fray::node {

class Database;

// Bytes that are bound must live until run() or the last next().
class Statement {
 public:
  Statement() = default;
  Statement(Statement&& other) noexcept
      : database_(other.database_), statement_(std::exchange(other.statement_, nullptr)), bound_(other.bound_) {}
  Statement& operator=(Statement&& other) noexcept;
  ~Statement();

  Statement& bind(std::uint64_t number);
  Statement& bind(std::string_view text);
  Statement& bind_bytes(std::string_view bytes);
  // Runs the statement to its end, without its rows.
  Status run();
  // Whether there is another row; after the last one the statement can be bound anew.
  Result<bool> next();
  std::uint64_t number(int column) const;
  std::string bytes(int column) const;  // or text

 private:
  friend class Database;
  Statement(Database& database, sqlite3_stmt* statement) : database_(&database), statement_(statement) {}
  void reset();

  Database* database_ = nullptr;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

class Database {
 public:
  struct Kind {
    const char* what;    // its name in messages: "the records of jobs"
    int format;          // a file of another format is kCorruption
    const char* schema;  // creates the tables that are missing
  };

  static Result<std::unique_ptr<Database>> open(const std::string& path, const Kind& kind);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  Result<Statement> prepare(const char* sql);
  Status change(const std::function<Status()>& body);
  // The error of SQLite for the last call.
  Status failed(const char* what);

 private:
  Database(sqlite3* database, const Kind& kind) : database_(database), kind_(kind) {}

  Status make_ready();
  Status run(const char* sql);
  Result<std::string> text_of(const char* sql);

  sqlite3* database_;
  const Kind kind_;
  Status broken_;  // not ok once the disk has failed
};

}  // namespace fray::node
