#include "node/objects/memory_carrier.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>

#include "base/fault.h"
#include "store/segment_map.h"

namespace fray::node {

namespace {
constexpr std::chrono::milliseconds kPatience{500};  // for answers to kYieldMemory: a client may be stopped
constexpr const char* kLost =
    "the node had no descriptor left for the object's bytes; make it again, or raise the limit of open files (ulimit "
    "-n) "
    "of the node";
}  // namespace

MemoryCarrier::MemoryCarrier(event::Loop& loop, Roster& roster, std::uint64_t limit_bytes, std::string spill_folder)
    : loop_(loop),
      roster_(roster),
      table_(limit_bytes),
      spiller_(loop, std::move(spill_folder),
               [this](SegmentId segment, Result<os::Fd> file) { copied(segment, std::move(file)); }) {
  table_.set_names([this](ProcessId process) {
    Connection* connection = roster_.find(process);
    if (connection == nullptr) return fmt::format("process {}", process);
    bool driver = connection->role == wire::Role::kDriver;
    return fmt::format("{} (pid {})", driver ? "driver" : "worker", connection->pid);
  });
}

Status MemoryCarrier::announce(ProcessId process, const wire::SegmentInfo& message, std::vector<os::Fd> fds) {
  if (fds.size() != 1 || message.segment.writer != process) {
    return Status(StatusCode::kCorruption, "a segment was announced without its descriptor, or in another's name");
  }
  if (!fds.front().is_open()) {
    lost_.insert(message.segment);
    return Status::ok();
  }
  FRAY_RETURN_IF_ERROR(store::check_segment(message.segment, fds.front().get(), message.size, store::Backing::kMemory));
  Status announced = table_.announce(message.segment, std::move(fds.front()), message.size);
  return announced.is_ok() ? announced : Status(StatusCode::kCorruption, announced.message());
}

void MemoryCarrier::open(Connection& connection, std::uint64_t ticket, SegmentId segment) {
  wire::SegmentInfo answer;
  answer.segment = segment;
  auto opened = table_.open(segment);
  if (Connection* writer = roster_.find(segment.writer); !opened.is_ok() && writer != nullptr) {
    // The writer announces a segment before any process can learn its number, but the loop reads sockets in any order:
    // the announcement may still wait in the writer's socket. So that socket is read first. If a frame of the writer is
    // just being handled, the announcement may lie behind that frame, and the request is repeated when no socket is
    // read.
    if (writer->is_reading()) return open_later(connection.process, ticket, segment);
    writer->drain();
    opened = table_.open(segment);
  }
  if (!opened.is_ok()) {
    answer.error = lost_.contains(segment) ? std::string(kLost) : opened.status().message();
    return connection.send(wire::ControlType::kSegmentOpened, ticket, answer);
  }
  os::Fd copy(FRAY_FAULT("segment.pass", EMFILE) ? -1 : ::fcntl(opened->descriptor, F_DUPFD_CLOEXEC, 0));
  if (!copy.is_open()) {
    answer.error = Status::io_error("the node cannot pass the segment", errno).message();
    return connection.send(wire::ControlType::kSegmentOpened, ticket, answer);
  }
  answer.size = opened->size;
  table_.touch(segment);
  connection.send(wire::ControlType::kSegmentOpened, ticket, answer, std::move(copy));
}

// Repeats the request when no socket is being read.
void MemoryCarrier::open_later(ProcessId process, std::uint64_t ticket, SegmentId segment) {
  loop_.after(std::chrono::nanoseconds(0), [this, process, ticket, segment] {
    if (Connection* connection = roster_.find(process); connection != nullptr) open(*connection, ticket, segment);
  });
}

Status MemoryCarrier::forget_segment(ProcessId process, SegmentId segment) {
  if (segment.writer != process) return Status(StatusCode::kCorruption, "a segment was dropped in another's name");
  lost_.erase(segment);
  Status forgotten = table_.forget(segment);  // an unknown segment was spilled meanwhile
  if (!forgotten.is_ok() || !spilling_.contains(segment)) return Status::ok();
  // The node had asked for the segment back. Dropping it is the answer; without an object in it nothing is copied.
  if (table_.contains(segment)) {
    copy(segment);
  } else {
    spilling_.erase(segment);
    serve_waiting();
  }
  return Status::ok();
}

void MemoryCarrier::reserve(ProcessId process, std::uint64_t ticket, std::uint64_t bytes) {
  waiting_.push_back({process, ticket, bytes});
  table_.retry_refused();
  serve_waiting();
}

void MemoryCarrier::unreserve(ProcessId process, std::uint64_t bytes) {
  table_.unreserve(process, bytes);
  serve_waiting();
}

void MemoryCarrier::serve_waiting() {
  while (!waiting_.empty()) {
    Waiting& first = waiting_.front();
    Status granted = grant(first);
    if (!granted.is_ok()) {
      const bool full = granted.code() == StatusCode::kStoreFull;
      const bool possible = first.bytes <= table_.limit();
      if (possible && (!asked_.empty() || (full && (spill_one() || !spilling_.empty())))) return;
      if (possible && !first.clients_asked) {
        first.clients_asked = true;
        ask_clients(full);
        if (!asked_.empty()) return;
      }
      std::string reason = granted.message();
      if (!last_failure_.empty()) reason += "; spilling failed: " + last_failure_;
      answer(first, std::move(reason));
    } else {
      answer(first, {});
    }
    waiting_.pop_front();
  }
  last_failure_.clear();
}

Status MemoryCarrier::grant(const Waiting& waiting) {
  if (!descriptors_.has_room_for(table_.promised() + 1)) {
    return Status(StatusCode::kResourceExhausted,
                  fmt::format("the store is full: {} of the node, {} of them for segments, and the rest is needed for "
                              "workers and sockets. Let go of refs, put several arrays into one value, or raise the "
                              "limit of open files (ulimit -n) of the node",
                              descriptors_.text(), table_.size()));
  }
  return table_.reserve(waiting.process, waiting.bytes);
}

void MemoryCarrier::answer(const Waiting& waiting, std::string error) {
  wire::Reserved message{waiting.bytes, std::move(error)};
  roster_.send(waiting.process, wire::ControlType::kReserved, waiting.ticket, message);
}

// Objects that only their process knows can be spilled only once they are announced, and only the process itself can
// give back warm segments.
void MemoryCarrier::ask_clients(bool announce) {
  for (Connection* client : roster_.clients()) {
    asked_.insert(client->process);
    client->send(wire::ControlType::kYieldMemory, 0, wire::YieldMemory{announce});
  }
  loop_.cancel(patience_);
  patience_ = loop_.after(kPatience, [this] {
    asked_.clear();
    serve_waiting();
  });
}

void MemoryCarrier::yielded(ProcessId process) {
  if (asked_.erase(process) == 0 || !asked_.empty()) return;
  loop_.cancel(patience_);
  table_.retry_refused();
  serve_waiting();
}

// Several segments may wait for the answers of their writers at once, but only one is copied: the disk is the limit.
bool MemoryCarrier::spill_one() {
  if (!spilling_.empty()) return true;
  auto segment = table_.choose_spill();
  if (!segment) return false;
  spilling_[*segment] = segment->writer;
  Connection* writer = roster_.find(segment->writer);
  if (writer == nullptr) {
    copy(*segment);
  } else {
    wire::SegmentName question;
    question.segment = *segment;
    writer->send(wire::ControlType::kEvict, 0, question);
  }
  return true;
}

void MemoryCarrier::evicted(ProcessId process, const wire::SegmentName& message) {
  auto found = spilling_.find(message.segment);
  if (found == spilling_.end() || found->second != process) return;
  if (message.ok) {
    table_.writer_let_go(message.segment);
    return copy(message.segment);
  }
  refuse(message.segment);
}

void MemoryCarrier::copy(SegmentId segment) {
  auto opened = table_.open(segment);
  if (!opened.is_ok()) {
    spilling_.erase(segment);
    return serve_waiting();
  }
  Status submitted = spiller_.submit(segment, opened->descriptor, opened->size);
  if (!submitted.is_ok()) copied(segment, submitted);
}

void MemoryCarrier::copied(SegmentId segment, Result<os::Fd> file) {
  if (spilling_.erase(segment) == 0) return;  // the segment was dropped meanwhile
  if (file.is_ok()) {
    // False: the last object was removed meanwhile; the file has no name and vanishes with its descriptor.
    if (!table_.spilled(segment, std::move(file).value())) last_failure_.clear();
  } else {
    last_failure_ = file.status().message();
    table_.spill_refused(segment);
  }
  serve_waiting();
}

void MemoryCarrier::refuse(SegmentId segment) {
  spilling_.erase(segment);
  table_.spill_refused(segment);
  serve_waiting();
}

void MemoryCarrier::process_left(ProcessId process) {
  asked_.erase(process);
  std::erase_if(lost_, [process](SegmentId segment) { return segment.writer == process; });
  for (SegmentId dropped : table_.process_left(process)) spilling_.erase(dropped);
  std::vector<SegmentId> unanswered;
  for (const auto& [segment, writer] : spilling_) {
    if (writer == process) unanswered.push_back(segment);
  }
  // The writer has ended, so it does not answer and views nothing.
  for (SegmentId segment : unanswered) copy(segment);
  std::erase_if(waiting_, [process](const Waiting& waiting) { return waiting.process == process; });
  serve_waiting();
}

Status MemoryCarrier::object_added(const Location& location) {
  if (lost_.contains(location.segment)) {
    return Status(StatusCode::kResourceExhausted, kLost);
  }
  return table_.object_added(location);
}

void MemoryCarrier::object_removed(const Location& location, bool reuse) {
  auto removed = table_.object_removed(location);
  if (!removed.is_ok()) return;
  if (removed->segment_dropped) spilling_.erase(location.segment);
  if (removed->tell_writer) give_back(location, reuse);
  if (removed->segment_dropped) serve_waiting();
}

void MemoryCarrier::give_back(const Location& location, bool reuse) {
  roster_.send(location.segment.writer, wire::ControlType::kFreeRange, 0, wire::FreeRange{location, reuse});
}

}  // namespace fray::node
