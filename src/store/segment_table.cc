#include "store/segment_table.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/amount_text.h"
#include "store/mapping.h"
#include "store/segment_kind.h"

namespace fray::store {
namespace {

Status unknown(SegmentId segment) {
  return Status(StatusCode::kNotFound,
                fmt::format("the node has no segment {} of process {}", segment.number, segment.writer));
}

}  // namespace

// ---- memory granted to processes

Status SegmentTable::reserve(ProcessId process, std::uint64_t bytes) {
  if (!lies_within(used_bytes_, bytes, limit_bytes_)) {
    return Status(StatusCode::kStoreFull, holders_summary(bytes));
  }
  used_bytes_ += bytes;
  Process& account = processes_[process];
  account.reserved_bytes += bytes;
  ++account.promised;
  ++promised_;
  return Status::ok();
}

void SegmentTable::unreserve(ProcessId process, std::uint64_t bytes) {
  const auto found = processes_.find(process);
  if (found == processes_.end()) return;
  Process& account = found->second;
  bytes = std::min(bytes, account.reserved_bytes - account.announced_bytes);
  if (account.forgotten > 0) {
    --account.forgotten;
  } else if (account.promised > 0) {
    --account.promised;
    --promised_;
  }
  account.reserved_bytes -= bytes;
  used_bytes_ -= bytes;
}

std::vector<SegmentId> SegmentTable::process_left(ProcessId process) {
  std::vector<SegmentId> dropped;
  const auto found = processes_.find(process);
  if (found == processes_.end()) return dropped;
  const std::unordered_set<SegmentId> announced = found->second.segments;
  for (const SegmentId segment : announced) {
    Segment& entry = segments_.at(segment);
    abandon(segment, entry);
    if (!entry.objects.empty()) continue;
    drop(segment);
    dropped.push_back(segment);
  }
  used_bytes_ -= found->second.reserved_bytes;
  promised_ -= found->second.promised;
  processes_.erase(found);
  return dropped;
}

std::uint64_t SegmentTable::reserved(ProcessId process) const {
  const auto found = processes_.find(process);
  return found == processes_.end() ? 0 : found->second.reserved_bytes;
}

// ---- segments

Status SegmentTable::announce(SegmentId segment, os::Fd descriptor, std::uint64_t size) {
  if (segments_.contains(segment)) {
    return Status(StatusCode::kAlreadyExists, fmt::format("segment {} is announced twice", segment.number));
  }
  Process& account = processes_[segment.writer];
  if (!lies_within(account.announced_bytes, size, account.reserved_bytes)) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("process {} announced {} more than it had reserved", segment.writer, bytes_text(size)));
  }
  account.announced_bytes += size;
  account.segments.insert(segment);
  if (account.promised > 0) {
    --account.promised;
    --promised_;
  }
  Segment& entry = segments_[segment];
  entry.descriptor = std::move(descriptor);
  entry.size = size;
  return Status::ok();
}

// The writer has ended: its reservation is freed except for announced segments, which count for the node from now on.
void SegmentTable::abandon(SegmentId segment, Segment& entry) {
  if (entry.orphan) return;
  entry.orphan = true;
  Process& account = processes_.at(segment.writer);
  account.segments.erase(segment);
  account.announced_bytes -= entry.size;
  account.reserved_bytes -= entry.size;
  orphan_bytes_ += entry.size;  // used_bytes_ stays
  requeue(segment, entry, false);
}

// Requires: the segment is abandoned, so that it counts for the node alone.
void SegmentTable::drop(SegmentId segment) {
  const auto found = segments_.find(segment);
  Segment& entry = found->second;
  if (entry.spilled) {
    spilled_bytes_ -= entry.size;
  } else {
    orphan_bytes_ -= entry.size;
    used_bytes_ -= entry.size;
  }
  by_use_.erase(entry.last_use);
  segments_.erase(found);
}

Status SegmentTable::forget(SegmentId segment) {
  const auto found = segments_.find(segment);
  if (found == segments_.end() || found->second.orphan) return unknown(segment);
  Segment& entry = found->second;
  // Unlike in abandon(), the bytes stay in the writer's account, where unreserve(), which follows, must find them.
  Process& account = processes_.at(segment.writer);
  account.announced_bytes -= entry.size;
  account.segments.erase(segment);
  ++account.forgotten;
  used_bytes_ += entry.size;
  orphan_bytes_ += entry.size;
  entry.orphan = true;
  requeue(segment, entry, false);
  if (entry.objects.empty()) drop(segment);
  return Status::ok();
}

Result<SegmentTable::Opened> SegmentTable::open(SegmentId segment) const {
  const auto found = segments_.find(segment);
  if (found == segments_.end()) return unknown(segment);
  return Opened{found->second.descriptor.get(), found->second.size, found->second.spilled};
}

// ---- objects

Status SegmentTable::object_added(const Location& location) {
  const auto found = segments_.find(location.segment);
  if (found == segments_.end()) return unknown(location.segment);
  Segment& entry = found->second;
  if (!lies_within(location.offset, location.size, entry.size)) {
    return Status(StatusCode::kCorruption,
                  fmt::format("segment {} of process {} does not contain {} bytes at {}", location.segment.number,
                              location.segment.writer, location.size, location.offset));
  }
  if (!entry.objects.emplace(location.offset, location.size).second) {
    return Status(StatusCode::kAlreadyExists,
                  fmt::format("an object lies at {} in segment {} of process {} already", location.offset,
                              location.segment.number, location.segment.writer));
  }
  requeue(location.segment, entry, true);
  return Status::ok();
}

Result<SegmentTable::Removed> SegmentTable::object_removed(const Location& location) {
  const auto found = segments_.find(location.segment);
  if (found == segments_.end()) return unknown(location.segment);
  Segment& entry = found->second;
  const auto object = entry.objects.find(location.offset);
  if (object == entry.objects.end() || object->second != location.size) {
    return Status(StatusCode::kInvalidArgument, fmt::format("no object of {} bytes lies at {} in segment {}",
                                                            location.size, location.offset, location.segment.number));
  }
  entry.objects.erase(object);
  requeue(location.segment, entry, false);
  Removed removed;
  removed.tell_writer = !entry.orphan;
  removed.segment_dropped = entry.orphan && entry.objects.empty();
  if (removed.segment_dropped) drop(location.segment);
  return removed;
}

// ---- spilling

bool SegmentTable::may_spill(SegmentId segment, const Segment& entry) {
  if (entry.spilled || entry.spilling || entry.refused || entry.objects.empty()) return false;
  return entry.orphan || !is_slab(segment);
}

void SegmentTable::requeue(SegmentId segment, Segment& entry, bool used) {
  if (entry.last_use != 0) by_use_.erase(entry.last_use);
  if (used || entry.last_use == 0) entry.last_use = ++clock_;
  if (may_spill(segment, entry)) by_use_.emplace(entry.last_use, segment);
}

void SegmentTable::touch(SegmentId segment) {
  const auto found = segments_.find(segment);
  if (found != segments_.end()) requeue(segment, found->second, true);
}

std::optional<SegmentId> SegmentTable::choose_spill() {
  if (by_use_.empty()) return std::nullopt;
  const SegmentId segment = by_use_.begin()->second;
  Segment& entry = segments_.at(segment);
  entry.spilling = true;
  requeue(segment, entry, false);
  return segment;
}

void SegmentTable::writer_let_go(SegmentId segment) {
  const auto found = segments_.find(segment);
  if (found == segments_.end()) return;
  abandon(segment, found->second);
  if (found->second.objects.empty()) drop(segment);
}

bool SegmentTable::spilled(SegmentId segment, os::Fd file) {
  const auto found = segments_.find(segment);
  if (found == segments_.end()) return false;
  Segment& entry = found->second;
  abandon(segment, entry);
  if (entry.objects.empty()) {
    drop(segment);
    return false;
  }
  entry.descriptor = std::move(file);
  entry.spilling = false;
  entry.spilled = true;
  orphan_bytes_ -= entry.size;
  used_bytes_ -= entry.size;
  spilled_bytes_ += entry.size;
  requeue(segment, entry, false);
  return true;
}

void SegmentTable::spill_refused(SegmentId segment) {
  const auto found = segments_.find(segment);
  if (found == segments_.end()) return;
  found->second.spilling = false;
  found->second.refused = true;
  requeue(segment, found->second, false);
}

void SegmentTable::retry_refused() {
  for (auto& [segment, entry] : segments_) {
    if (!entry.refused) continue;
    entry.refused = false;
    requeue(segment, entry, false);
  }
}

// ---- who holds what

std::string SegmentTable::holders_summary(std::uint64_t asked_bytes) const {
  struct Holder {
    std::string name;
    std::uint64_t bytes = 0;
    std::size_t objects = 0;
  };
  std::unordered_map<ProcessId, std::size_t> objects;
  std::size_t orphaned_objects = 0;
  for (const auto& [segment, entry] : segments_) {
    if (entry.spilled) continue;
    (entry.orphan ? orphaned_objects : objects[segment.writer]) += entry.objects.size();
  }
  std::vector<Holder> holders;
  for (const auto& [process, account] : processes_) {
    if (account.reserved_bytes == 0) continue;
    holders.push_back(
        {name_ ? name_(process) : fmt::format("process {}", process), account.reserved_bytes, objects[process]});
  }
  if (orphan_bytes_ > 0)
    holders.push_back({"objects of processes that let go of them", orphan_bytes_, orphaned_objects});
  std::sort(holders.begin(), holders.end(),
            [](const Holder& a, const Holder& b) { return a.bytes != b.bytes ? a.bytes > b.bytes : a.name < b.name; });

  std::string text = fmt::format("the store is full: {} of {} used, {} more asked", bytes_text(used_bytes_),
                                 bytes_text(limit_bytes_), bytes_text(asked_bytes));
  constexpr std::size_t kNamed = 3;
  for (std::size_t i = 0; i < std::min(holders.size(), kNamed); ++i) {
    text +=
        fmt::format("{} {} {} in {} published {}", i == 0 ? "; largest:" : ",", holders[i].name,
                    bytes_text(holders[i].bytes), holders[i].objects, holders[i].objects == 1 ? "object" : "objects");
  }
  if (holders.size() > kNamed) text += fmt::format(" and {} more", holders.size() - kNamed);
  return text;
}

}  // namespace fray::store
