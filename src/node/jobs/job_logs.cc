#include "node/jobs/job_logs.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <utility>
#include <vector>

#include <sys/inotify.h>
#include <unistd.h>

#include "supervisor/exit_report.h"
#include "supervisor/log_files.h"
#include "supervisor/order.h"

namespace fray::node {

namespace {

constexpr std::uint32_t kMostBytes = 4u << 20;  // of one piece
constexpr std::chrono::milliseconds kLookPause{100};
constexpr std::array<std::uint8_t, 2> kStreams{1, 2};

}  // namespace

JobLogs::JobLogs(event::Loop& loop, const job::JobTable& table, const JobFolders& folders)
    : loop_(loop), table_(table), folders_(folders) {}

JobLogs::~JobLogs() {
  loop_.cancel(timer_);
  if (inotify_.is_open()) loop_.remove(inotify_.get());
}

wire::JobLogOpened JobLogs::open(const wire::OpenJobLog& request) const {
  wire::JobLogOpened answer;
  Result<std::string> id = table_.find(request.id);
  const job::JobRecord* record = id.is_ok() ? table_.record(*id) : nullptr;
  if (record == nullptr) {
    answer.code = id.status().code();
    answer.message = id.status().message();
    return answer;
  }
  answer.id = *id;
  answer.attempt = request.attempt == 0 ? record->attempt : request.attempt;
  if (answer.attempt > record->attempt) {
    answer.code = StatusCode::kNotFound;
    answer.message = "the job " + *id + " has no attempt " + std::to_string(answer.attempt) + " yet";
    return answer;
  }
  if (answer.attempt == 0) return answer;
  const std::string folder = supervisor::attempt_folder(folders_.path(*id), answer.attempt);
  for (std::uint32_t replica = 0; replica < record->spec.replicas; ++replica) {
    for (std::uint8_t stream : kStreams) {
      const std::string name = supervisor::stream_name(replica, stream);
      wire::LogCursor cursor{replica, stream, 0};
      if (request.tail_lines != wire::OpenJobLog::kAll) {
        cursor.offset = supervisor::tail_offset(folder, name, request.tail_lines);
      }
      if (request.since_unix_ns != 0) {
        cursor.offset = std::max(cursor.offset, supervisor::offset_at(folder, name, request.since_unix_ns));
      }
      answer.cursors.push_back(cursor);
    }
  }
  return answer;
}

wire::JobLogPieces JobLogs::look(const wire::ReadJobLog& request) const {
  wire::JobLogPieces pieces;
  const job::JobRecord* record = table_.record(request.id);
  if (record == nullptr) {
    pieces.code = StatusCode::kNotFound;
    pieces.message = "there is no job " + request.id;
    return pieces;
  }
  pieces.newest = record->attempt;
  pieces.job_ended = job::is_final(record->state);
  const bool over = request.attempt < record->attempt || !record->attempt_open;
  const std::string folder = supervisor::attempt_folder(folders_.path(request.id), request.attempt);
  for (const wire::LogCursor& cursor : request.cursors) {
    const std::string name = supervisor::stream_name(cursor.replica, cursor.stream);
    supervisor::LogRead read =
        supervisor::read_log(folder, name, cursor.offset, std::min(request.most_bytes, kMostBytes));
    if (read.bytes.empty() && read.missing == 0) continue;
    pieces.pieces.push_back({{cursor.replica, cursor.stream, read.offset}, read.missing, std::move(read.bytes)});
  }
  pieces.ended = over && pieces.pieces.empty();
  return pieces;
}

// The end of an attempt is no answer while a further attempt may follow, which is to be read, too.
bool JobLogs::is_answer(const wire::JobLogPieces& pieces, const wire::ReadJobLog& request) {
  return !request.wait || pieces.code != StatusCode::kOk || !pieces.pieces.empty() || pieces.job_ended ||
         pieces.newest > request.attempt || (request.alone && pieces.ended);
}

JobLogs::ReaderId JobLogs::read(wire::ReadJobLog request, OnPieces on_pieces) {
  if (wire::JobLogPieces pieces = look(request); is_answer(pieces, request)) {
    on_pieces(pieces);
    return 0;
  }
  const ReaderId id = ++last_reader_;
  Reader& reader = readers_.emplace(id, Reader{std::move(request), std::move(on_pieces), -1}).first->second;
  watch_folder(reader);
  // The watch does not report what was written before it existed.
  if (wire::JobLogPieces pieces = look(reader.request); is_answer(pieces, reader.request)) {
    const Reader done = std::move(reader);
    readers_.erase(id);
    unwatch(done);
    done.on_pieces(pieces);
    return 0;
  }
  return id;
}

void JobLogs::cancel(ReaderId id) {
  auto found = readers_.find(id);
  if (found == readers_.end()) return;
  const Reader gone = std::move(found->second);
  readers_.erase(found);
  unwatch(gone);
}

void JobLogs::changed(const std::string& job) {
  std::vector<ReaderId> concerned;
  for (const auto& [id, reader] : readers_) {
    if (reader.request.id == job) concerned.push_back(id);
  }
  for (ReaderId id : concerned) try_again(id);
}

void JobLogs::try_again(ReaderId id) {
  auto found = readers_.find(id);
  if (found == readers_.end()) return;
  const wire::JobLogPieces pieces = look(found->second.request);
  if (!is_answer(pieces, found->second.request)) return;
  const Reader done = std::move(found->second);
  readers_.erase(found);
  unwatch(done);
  done.on_pieces(pieces);
}

void JobLogs::watch_folder(Reader& reader) {
  if (!inotify_.is_open()) {
    inotify_ = os::Fd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    if (inotify_.is_open() && !loop_.add(inotify_.get(), EPOLLIN, [this](std::uint32_t) { files_changed(); }).is_ok()) {
      inotify_.reset();
    }
  }
  const std::string folder = supervisor::attempt_folder(folders_.path(reader.request.id), reader.request.attempt);
  if (inotify_.is_open()) reader.watch = ::inotify_add_watch(inotify_.get(), folder.c_str(), IN_MODIFY | IN_CREATE);
  if (reader.watch < 0 && reader.request.attempt > 0) look_now_and_then();
}

// All readers of a folder share one watch.
void JobLogs::unwatch(const Reader& gone) {
  const bool needed =
      std::any_of(readers_.begin(), readers_.end(), [&](const auto& each) { return each.second.watch == gone.watch; });
  if (gone.watch >= 0 && !needed) ::inotify_rm_watch(inotify_.get(), gone.watch);
}

void JobLogs::files_changed() {
  alignas(inotify_event) std::array<char, 16 << 10> buffer;
  std::set<int> watches;
  ssize_t got = 0;
  while ((got = ::read(inotify_.get(), buffer.data(), buffer.size())) > 0) {
    for (ssize_t at = 0; at < got;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
      watches.insert(event->wd);
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    }
  }
  std::vector<ReaderId> concerned;
  for (const auto& [id, reader] : readers_) {
    if (watches.contains(reader.watch) || watches.contains(-1)) concerned.push_back(id);  // -1: events were lost
  }
  for (ReaderId id : concerned) try_again(id);
}

void JobLogs::look_now_and_then() {
  if (timer_ != 0) return;
  timer_ = loop_.after(kLookPause, [this] {
    timer_ = 0;
    std::vector<ReaderId> blind;
    for (const auto& [id, reader] : readers_) {
      if (reader.watch < 0 && reader.request.attempt > 0) blind.push_back(id);
    }
    for (ReaderId id : blind) try_again(id);
    if (std::any_of(readers_.begin(), readers_.end(),
                    [](const auto& each) { return each.second.watch < 0 && each.second.request.attempt > 0; })) {
      look_now_and_then();
    }
  });
}

}  // namespace fray::node
