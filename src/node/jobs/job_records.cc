#include "node/jobs/job_records.h"

#include <cerrno>
#include <chrono>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log_line.h"
#include "node/jobs/job_step.h"
#include "os/files/run_folder.h"

namespace fray::node {

namespace {

constexpr std::chrono::milliseconds kFlushPause{100};
constexpr std::chrono::seconds kFlushRetryPause{1};

}  // namespace

JobRecords::~JobRecords() { loop_.cancel(flush_timer_); }

Status JobRecords::make_ready() {
  if (ready_) return Status::ok();
  if (!kept_) {
    if (::mkdir(folders_.root().c_str(), 0700) != 0 && errno != EEXIST) {
      return Status::io_error("cannot create " + folders_.root(), errno);
    }
  } else {
    const bool is_new = ::access(folders_.root().c_str(), F_OK) != 0;
    FRAY_RETURN_IF_ERROR(os::open_home_folder("jobs").status());
    FRAY_ASSIGN_OR_RETURN(store_, JobStore::open(folders_.root(), &rebuilt_));
    if (is_new) rebuilt_.clear();  // a home without earlier jobs has lost none
  }
  ready_ = true;
  return Status::ok();
}

Result<std::vector<job::JobRecord>> JobRecords::read() {
  auto records = read_all();
  if (!records.is_ok()) {
    trouble_ = records.status().message();
    log_event(LogLevel::kError, "fray node: jobs cannot be taken: {}", trouble_);
  }
  return records;
}

Result<std::vector<job::JobRecord>> JobRecords::read_all() {
  FRAY_RETURN_IF_ERROR(make_ready());
  if (!rebuilt_.empty()) return rebuild();
  FRAY_ASSIGN_OR_RETURN(std::vector<JobStore::Row> rows, store_->read());
  std::vector<job::JobRecord> records;
  std::set<std::string> known;
  for (const JobStore::Row& row : rows) {
    auto record = job::JobRecord::parse(row.record);
    if (!record.is_ok()) {
      rebuilt_ = fmt::format("the record of the job {} cannot be read", row.id);
      return rebuild();
    }
    known.insert(row.id);
    records.push_back(std::move(record).value());
  }
  folders_.remove_unknown(known);
  return records;
}

Result<std::vector<job::JobRecord>> JobRecords::rebuild() {
  std::vector<job::JobRecord> records = folders_.read_all();
  if (records.empty()) rebuilt_.clear();  // nothing was lost
  if (rebuilt_.empty()) return records;
  rebuilt_ += fmt::format("; {} jobs are known again from their folders", records.size());
  log_event(LogLevel::kWarning, "fray node: the records of jobs were damaged: {}", rebuilt_);
  std::vector<JobStore::Row> rows;
  for (const job::JobRecord& record : records) rows.push_back({record.spec.id, record.json()});
  if (Status kept = store_->keep(rows); !kept.is_ok()) trouble_ = kept.message();
  return records;
}

Status JobRecords::keep_accepted(const JobSpec& spec) {
  const job::JobRecord* record = table_.record(spec.id);
  FRAY_RETURN_IF_ERROR(folders_.make(spec, *record));
  job_step("node.dies.unrecorded");
  std::string text = record->json();
  if (store_) {
    Status kept = store_->keep({{spec.id, text}});
    if (!kept.is_ok()) folders_.remove(spec.id);
    FRAY_RETURN_IF_ERROR(kept);
  }
  job_step("node.dies.accepted");
  written_[spec.id] = std::move(text);
  return Status::ok();
}

void JobRecords::keep(const std::vector<job::Command>& commands) {
  bool matters = false;
  for (const job::Command& command : commands) {
    if (const auto* record = std::get_if<job::Record>(&command)) {
      unwritten_.insert(record->job);
    } else {
      matters = true;
    }
  }
  if (!store_ || unwritten_.empty()) return unwritten_.clear();
  if (matters) return flush();
  if (flush_timer_ == 0) {
    flush_timer_ = loop_.after(kFlushPause, [this] {
      flush_timer_ = 0;
      flush();
    });
  }
}

void JobRecords::flush() {
  std::vector<JobStore::Row> rows;
  for (const std::string& id : unwritten_) {
    const job::JobRecord* record = table_.record(id);
    if (record == nullptr) continue;
    std::string text = record->json();
    if (auto known = written_.find(id); known == written_.end() || known->second != text) rows.push_back({id, text});
  }
  if (!rows.empty()) {
    Status kept = store_->keep(rows);
    if (!kept.is_ok()) {
      if (trouble_.empty()) {
        log_event(LogLevel::kError, "fray node: {}; jobs go on, and none is taken", kept.message());
      }
      trouble_ = kept.message();
      if (flush_timer_ == 0 && kept.code() == StatusCode::kResourceExhausted) {
        flush_timer_ = loop_.after(kFlushRetryPause, [this] {
          flush_timer_ = 0;
          flush();
        });
      }
      return;
    }
  }
  unwritten_.clear();
  trouble_.clear();
  for (JobStore::Row& row : rows) written_[row.id] = std::move(row.record);
  std::erase_if(written_, [this](const auto& each) {
    const job::JobRecord* record = table_.record(each.first);
    return record == nullptr || job::is_final(record->state);
  });
}

void JobRecords::removed(const std::string& id) {
  if (!store_) return;
  if (Status removed = store_->remove(id); !removed.is_ok()) trouble_ = removed.message();
}

}  // namespace fray::node
