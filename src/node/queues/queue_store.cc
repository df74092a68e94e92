#include "node/queues/queue_store.h"

#include <algorithm>
#include <variant>

#include <fmt/format.h>

namespace fray::node {

namespace {

using queue::Kept;
using queue::Verb;

constexpr const char* kQueuesName = "/queues.db";
// The bytes of an item are in another table than its lease: SQLite rewrites a whole row when a part of it changes.
constexpr Database::Kind kQueues{"the queues", 1,
                                 R"(
CREATE TABLE IF NOT EXISTS next (only INTEGER PRIMARY KEY CHECK (only = 0), number INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS queue (queue INTEGER PRIMARY KEY, name TEXT NOT NULL, made INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS item (item INTEGER PRIMARY KEY, queue INTEGER NOT NULL, size INTEGER NOT NULL,
                                 bytes BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS lease (item INTEGER PRIMARY KEY, lease INTEGER NOT NULL, begun INTEGER NOT NULL,
                                  length INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS memory (client TEXT PRIMARY KEY, sequence INTEGER NOT NULL, verb INTEGER NOT NULL,
                                   first_lease INTEGER NOT NULL, count INTEGER NOT NULL, invalid TEXT NOT NULL,
                                   at INTEGER NOT NULL) WITHOUT ROWID;
)"};

std::uint64_t unsigned_of(std::int64_t number) { return static_cast<std::uint64_t>(number); }

// Calls `take` for each row.
template <typename Take>
Status each_row(Database& database, const char* sql, Take take) {
  FRAY_ASSIGN_OR_RETURN(Statement rows, database.prepare(sql));
  while (true) {
    FRAY_ASSIGN_OR_RETURN(bool more, rows.next());
    if (!more) return Status::ok();
    take(rows);
  }
}

}  // namespace

Result<std::unique_ptr<QueueStore>> QueueStore::open(const std::string& folder) {
  const std::string path = folder + kQueuesName;
  auto database = Database::open(path, kQueues);
  if (!database.is_ok()) {
    const Status& why = database.status();
    if (why.code() != StatusCode::kCorruption) return why;
    return Status(why.code(), fmt::format("{} cannot be read: {}; stop the node and move the file aside to begin with "
                                          "empty queues",
                                          path, why.message()));
  }
  std::unique_ptr<QueueStore> store(new QueueStore(std::move(database).value()));
  FRAY_RETURN_IF_ERROR(store->prepare());
  return store;
}

Status QueueStore::prepare() {
  const std::pair<Statement*, const char*> statements[] = {
      {&keep_queue_, "INSERT INTO queue VALUES (?, ?, ?)"},
      {&drop_queue_, "DELETE FROM queue WHERE queue = ?"},
      {&drop_leases_of_, "DELETE FROM lease WHERE item IN (SELECT item FROM item WHERE queue = ?)"},
      {&drop_items_of_, "DELETE FROM item WHERE queue = ?"},
      {&drop_waiting_, "DELETE FROM item WHERE queue = ? AND item NOT IN (SELECT item FROM lease)"},
      {&keep_item_, "INSERT INTO item VALUES (?, ?, ?, ?)"},
      {&drop_item_, "DELETE FROM item WHERE item = ?"},
      {&keep_lease_, "INSERT INTO lease VALUES (?, ?, ?, ?)"},
      {&drop_lease_, "DELETE FROM lease WHERE item = ?"},
      {&keep_memory_, "INSERT OR REPLACE INTO memory VALUES (?, ?, ?, ?, ?, ?, ?)"},
      {&drop_memory_, "DELETE FROM memory WHERE client = ?"},
      {&keep_next_, "INSERT OR REPLACE INTO next VALUES (0, ?)"},
      {&bytes_of_, "SELECT bytes FROM item WHERE item = ?"},
  };
  for (const auto& [statement, sql] : statements) {
    FRAY_ASSIGN_OR_RETURN(*statement, database_->prepare(sql));
  }
  return Status::ok();
}

Result<Kept> QueueStore::read() {
  Kept kept;
  FRAY_RETURN_IF_ERROR(
      each_row(*database_, "SELECT number FROM next", [&](Statement& row) { kept.next = row.number(0); }));
  FRAY_RETURN_IF_ERROR(each_row(*database_, "SELECT queue, name, made FROM queue", [&](Statement& row) {
    kept.queues.push_back({row.number(0), row.bytes(1), static_cast<std::int64_t>(row.number(2))});
  }));
  FRAY_RETURN_IF_ERROR(each_row(*database_, "SELECT queue, item, size FROM item", [&](Statement& row) {
    kept.items.push_back({row.number(0), row.number(1), row.number(2)});
  }));
  FRAY_RETURN_IF_ERROR(each_row(*database_, "SELECT item, lease, begun, length FROM lease", [&](Statement& row) {
    kept.leases.push_back({row.number(0), row.number(1), static_cast<std::int64_t>(row.number(2)),
                           static_cast<std::int64_t>(row.number(3))});
  }));
  FRAY_RETURN_IF_ERROR(each_row(
      *database_, "SELECT client, sequence, verb, first_lease, count, invalid, at FROM memory", [&](Statement& row) {
        kept.memories.push_back({row.bytes(0), row.number(1), static_cast<Verb>(row.number(2)), row.number(3),
                                 row.number(4), row.bytes(5), static_cast<std::int64_t>(row.number(6))});
      }));
  return kept;
}

Status QueueStore::apply(const std::vector<queue::Command>& commands) {
  const bool changes_nothing = std::all_of(commands.begin(), commands.end(), [](const queue::Command& command) {
    return std::holds_alternative<queue::Answered>(command);
  });
  if (changes_nothing) return Status::ok();
  return database_->change([&] {
    for (const queue::Command& command : commands) {
      FRAY_RETURN_IF_ERROR(std::visit([this](const auto& each) { return apply_one(each); }, command));
    }
    return Status::ok();
  });
}

Status QueueStore::apply_one(const queue::KeepQueue& command) {
  return keep_queue_.bind(command.queue).bind(command.name).bind(unsigned_of(command.made_unix_ns)).run();
}

Status QueueStore::apply_one(const queue::DropQueue& command) {
  FRAY_RETURN_IF_ERROR(drop_leases_of_.bind(command.queue).run());
  FRAY_RETURN_IF_ERROR(drop_items_of_.bind(command.queue).run());
  return drop_queue_.bind(command.queue).run();
}

Status QueueStore::apply_one(const queue::DropWaiting& command) {
  if (!command.leased_too) return drop_waiting_.bind(command.queue).run();
  FRAY_RETURN_IF_ERROR(drop_leases_of_.bind(command.queue).run());
  return drop_items_of_.bind(command.queue).run();
}

Status QueueStore::apply_one(const queue::KeepItem& command) {
  return keep_item_.bind(command.item).bind(command.queue).bind(command.bytes.size()).bind_bytes(command.bytes).run();
}

Status QueueStore::apply_one(const queue::DropItem& command) {
  FRAY_RETURN_IF_ERROR(drop_lease_.bind(command.item).run());
  return drop_item_.bind(command.item).run();
}

Status QueueStore::apply_one(const queue::KeepLease& command) {
  return keep_lease_.bind(command.item)
      .bind(command.lease)
      .bind(unsigned_of(command.begun_unix_ns))
      .bind(unsigned_of(command.length_ns))
      .run();
}

Status QueueStore::apply_one(const queue::DropLease& command) { return drop_lease_.bind(command.item).run(); }

Status QueueStore::apply_one(const queue::KeepMemory& command) {
  return keep_memory_.bind(command.client)
      .bind(command.sequence)
      .bind(static_cast<std::uint64_t>(command.verb))
      .bind(command.first_lease)
      .bind(command.count)
      .bind(command.invalid)
      .bind(unsigned_of(command.unix_ns))
      .run();
}

Status QueueStore::apply_one(const queue::DropMemory& command) { return drop_memory_.bind(command.client).run(); }

Status QueueStore::apply_one(const queue::KeepNext& command) { return keep_next_.bind(command.next).run(); }

Status QueueStore::fill(queue::Answer* answer) {
  std::vector<queue::GivenItem> there;
  for (queue::GivenItem& given : answer->given) {
    FRAY_ASSIGN_OR_RETURN(bool found, bytes_of_.bind(given.item).next());
    if (!found) continue;
    given.bytes = bytes_of_.bytes(0);
    FRAY_RETURN_IF_ERROR(bytes_of_.run());
    there.push_back(std::move(given));
  }
  answer->given = std::move(there);
  return Status::ok();
}

}  // namespace fray::node
