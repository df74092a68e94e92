#include "store/segment_map.h"

#include <cerrno>
#include <list>
#include <string>
#include <unordered_map>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

#include "base/mutex.h"

namespace fray::store {
namespace {

Status wrong(SegmentId segment, const std::string& what) {
  return Status(StatusCode::kCorruption, "segment " + std::to_string(segment.number) + " of process " +
                                             std::to_string(segment.writer) + " " + what);
}

Status not_mapped(SegmentId segment) {
  return Status(StatusCode::kNotFound, "segment " + std::to_string(segment.number) + " of process " +
                                           std::to_string(segment.writer) + " is not mapped");
}

Result<View> view_in(Pin pin, const Location& location) {
  if (!lies_within(location.offset, location.size, pin->size())) {
    return wrong(location.segment,
                 "does not contain " + std::to_string(location.size) + " bytes at " + std::to_string(location.offset));
  }
  return View{pin->bytes().subspan(location.offset, location.size), std::move(pin)};
}

struct Facts {
  bool is_regular = false;
  bool is_memory = false;  // a memfd, or a file on a file system that knows seals
  bool is_read_only = false;
  std::uint64_t size = 0;
};

Result<Facts> look_at(int descriptor) {
  struct stat found {};
  if (::fstat(descriptor, &found) != 0) return Status::io_error("cannot look at a segment's descriptor", errno);
  Facts facts;
  facts.is_regular = S_ISREG(found.st_mode);
  facts.is_memory = facts.is_regular && ::fcntl(descriptor, F_GET_SEALS) >= 0;
  const int flags = ::fcntl(descriptor, F_GETFL);
  facts.is_read_only = flags >= 0 && (flags & O_ACCMODE) == O_RDONLY;
  facts.size = found.st_size > 0 ? static_cast<std::uint64_t>(found.st_size) : 0;
  return facts;
}

}  // namespace

// Without seals the writer could shorten the file while it is read, which would raise SIGBUS.
Status check_segment(SegmentId segment, int descriptor, std::uint64_t size, Backing backing) {
  FRAY_ASSIGN_OR_RETURN(const Facts facts, look_at(descriptor));
  if (!facts.is_regular) return wrong(segment, "is not a file");
  if (facts.size != size || size == 0) {
    return wrong(segment, "has " + std::to_string(facts.size) + " bytes instead of " + std::to_string(size));
  }
  if (backing == Backing::kMemory && !os::has_all_seals(descriptor)) return wrong(segment, "is not sealed");
  if (backing == Backing::kSpillFile && !facts.is_read_only) return wrong(segment, "could be written");
  return Status::ok();
}

Result<Backing> backing_of(int descriptor) {
  FRAY_ASSIGN_OR_RETURN(const Facts facts, look_at(descriptor));
  // A spill folder may be on a tmpfs, whose files support seals, too; only spill files are read-only.
  return facts.is_memory && !facts.is_read_only ? Backing::kMemory : Backing::kSpillFile;
}

struct SegmentMap::State {
  struct Entry {
    std::weak_ptr<const Mapping> mapping;
    Pin unviewed;            // from adopt() to the first view()
    bool is_recent = false;  // then `position` is its place in recent
    std::list<std::pair<SegmentId, Pin>>::iterator position;
  };
  using Entries = std::unordered_map<SegmentId, Entry>;

  State(std::uint64_t limit, os::MemoryFiles& files_in) : idle_limit_bytes(limit), files(files_in) {}

  Result<Pin> map(SegmentId segment, const os::Fd& descriptor, std::uint64_t size, Backing backing, os::Access access);
  Pin find(SegmentId segment) FRAY_REQUIRES(mutex);
  void use(SegmentId segment, Entry& entry, const Pin& pin) FRAY_REQUIRES(mutex);
  void leave_recent(Entry& entry) FRAY_REQUIRES(mutex);
  void sweep() FRAY_REQUIRES(mutex);

  const std::uint64_t idle_limit_bytes;
  os::MemoryFiles& files;

  mutable Mutex mutex;
  Entries entries FRAY_GUARDED_BY(mutex);
  std::unordered_map<SegmentId, Pin> to_take FRAY_GUARDED_BY(mutex);   // private mappings; null until adopt()
  std::list<std::pair<SegmentId, Pin>> recent FRAY_GUARDED_BY(mutex);  // the latest first; at most idle_limit_bytes
  std::uint64_t recent_bytes FRAY_GUARDED_BY(mutex) = 0;
  std::size_t next_sweep FRAY_GUARDED_BY(mutex) = 64;
};

Result<Pin> SegmentMap::State::map(SegmentId segment, const os::Fd& descriptor, std::uint64_t size, Backing backing,
                                   os::Access access) {
  FRAY_RETURN_IF_ERROR(check_segment(segment, descriptor.get(), size, backing));
  FRAY_ASSIGN_OR_RETURN(std::byte* const data, files.map(descriptor.get(), size, access));
  Pin pin = std::make_shared<const Mapping>(data, size, access);
  if (backing == Backing::kSpillFile) FRAY_RETURN_IF_ERROR(os::populate_from_file(data, size));
  return pin;
}

Pin SegmentMap::State::find(SegmentId segment) {
  const auto found = entries.find(segment);
  return found == entries.end() ? nullptr : found->second.mapping.lock();
}

void SegmentMap::State::leave_recent(Entry& entry) {
  if (!entry.is_recent) return;
  recent_bytes -= entry.position->second->size();
  recent.erase(entry.position);
  entry.is_recent = false;
}

void SegmentMap::State::use(SegmentId segment, Entry& entry, const Pin& pin) {
  entry.unviewed.reset();
  if (pin->size() > idle_limit_bytes) return;
  if (entry.is_recent) {
    recent.splice(recent.begin(), recent, entry.position);
    return;
  }
  recent.emplace_front(segment, pin);
  entry.position = recent.begin();
  entry.is_recent = true;
  recent_bytes += pin->size();
  while (recent_bytes > idle_limit_bytes) leave_recent(entries.at(recent.back().first));
}

// Removes entries without a mapping, once per so many insertions, so that the cost per insertion is O(1).
void SegmentMap::State::sweep() {
  if (entries.size() < next_sweep) return;
  std::erase_if(entries, [](const auto& item) { return item.second.mapping.expired(); });
  next_sweep = 2 * entries.size() + 64;
}

SegmentMap::SegmentMap(std::uint64_t idle_limit_bytes, os::MemoryFiles& files)
    : state_(std::make_unique<State>(idle_limit_bytes, files)) {}

SegmentMap::~SegmentMap() = default;

Result<Pin> SegmentMap::adopt(SegmentId segment, os::Fd descriptor, std::uint64_t size) {
  FRAY_ASSIGN_OR_RETURN(const Backing backing, backing_of(descriptor.get()));
  return adopt(segment, std::move(descriptor), size, backing);
}

Result<Pin> SegmentMap::adopt(SegmentId segment, os::Fd descriptor, std::uint64_t size, Backing backing) {
  bool is_private = false;
  {
    MutexLock lock(state_->mutex);
    is_private = state_->to_take.contains(segment);
    if (Pin pin = is_private ? nullptr : state_->find(segment)) return pin;
  }
  const os::Access access = is_private ? os::Access::kPrivate : os::Access::kRead;
  FRAY_ASSIGN_OR_RETURN(Pin pin, state_->map(segment, descriptor, size, backing, access));
  MutexLock lock(state_->mutex);
  if (is_private) return state_->to_take[segment] = pin;
  if (Pin earlier = state_->find(segment)) return earlier;  // another thread has mapped it meanwhile
  state_->sweep();
  State::Entry& entry = state_->entries[segment];
  entry.mapping = pin;
  entry.unviewed = pin;
  return pin;
}

Result<View> SegmentMap::view(const Location& location) {
  MutexLock lock(state_->mutex);
  const auto found = state_->entries.find(location.segment);
  Pin pin = found == state_->entries.end() ? nullptr : found->second.mapping.lock();
  if (pin == nullptr) return not_mapped(location.segment);
  FRAY_ASSIGN_OR_RETURN(View view, view_in(std::move(pin), location));
  state_->use(location.segment, found->second, view.pin);
  return view;
}

Result<View> SegmentMap::take(const Location& location) {
  MutexLock lock(state_->mutex);
  const auto found = state_->to_take.try_emplace(location.segment).first;
  if (found->second == nullptr) return not_mapped(location.segment);
  Pin pin = std::move(found->second);
  state_->to_take.erase(found);
  return view_in(std::move(pin), location);
}

void SegmentMap::forget(SegmentId segment) {
  Pin last;  // unmapped after the lock is released
  Pin to_take;
  MutexLock lock(state_->mutex);
  if (auto wanted = state_->to_take.extract(segment)) to_take = std::move(wanted.mapped());
  const auto found = state_->entries.find(segment);
  if (found == state_->entries.end()) return;
  last = found->second.mapping.lock();
  state_->leave_recent(found->second);
  state_->entries.erase(found);
}

std::size_t SegmentMap::mapped_segments() const {
  MutexLock lock(state_->mutex);
  std::size_t count = 0;
  for (const auto& [segment, entry] : state_->entries) count += entry.mapping.expired() ? 0 : 1;
  return count;
}

}  // namespace fray::store
