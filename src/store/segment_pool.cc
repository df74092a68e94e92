#include "store/segment_pool.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/mutex.h"
#include "store/range_allocator.h"
#include "store/segment_kind.h"

namespace fray::store {
namespace {

constexpr std::uint64_t kPopulateStepBytes = 1ull << 20;  // a slab is populated in steps, as objects reach them

struct Segment {
  std::shared_ptr<Mapping> mapping;
  os::Fd descriptor;  // kept until the segment is published, that of a room longer
  bool published = false;
  bool room = false;  // it was made by allocate_room()
  bool cold = true;   // some pages may not be populated

  // Own segments.
  std::optional<std::uint64_t> object_bytes;  // none: warm

  // Slabs.
  std::optional<RangeAllocator> ranges;
  std::uint64_t populated_bytes = 0;

  std::uint64_t size() const { return mapping->size(); }
};

Status unknown(const Location& location) {
  return Status(StatusCode::kNotFound, "this process has no segment " + std::to_string(location.segment.number));
}

Status no_such_object(const Location& location) {
  return Status(StatusCode::kInvalidArgument, "no object of " + std::to_string(location.size) + " bytes lies at " +
                                                  std::to_string(location.offset) + " in segment " +
                                                  std::to_string(location.segment.number));
}

// Whether no reader has a pin, so that all reads have ended.
bool is_unpinned(const std::shared_ptr<Mapping>& mapping) {
  if (mapping.use_count() != 1) return false;
  std::atomic_thread_fence(std::memory_order_acquire);
  return true;
}

bool holds_object(const Segment& segment, const Location& location) {
  if (segment.ranges) return segment.ranges->size_at(location.offset) == location.size;
  return location.offset == 0 && segment.object_bytes == location.size;
}

}  // namespace

struct SegmentPool::State {
  using Dropped = std::vector<std::pair<SegmentId, Segment>>;
  using Segments = std::unordered_map<std::uint32_t, Segment>;

  State(const PoolOptions& options_in, MemoryBudget& budget_in, os::MemoryFiles& files_in)
      : options(options_in), budget(budget_in), files(files_in) {}

  Result<Segment> make_segment(std::uint64_t bytes);
  Result<Segment> make_within_budget(std::uint64_t bytes) FRAY_EXCLUDES(mutex);
  std::uint64_t release(std::uint64_t bytes) FRAY_EXCLUDES(mutex);
  void give_up(Dropped dropped) FRAY_EXCLUDES(mutex);
  Result<Block> allocate_own(std::uint64_t size, bool room) FRAY_EXCLUDES(mutex);
  Result<Block> allocate_in_slab(std::uint64_t size) FRAY_EXCLUDES(mutex);
  Status take_back(const Location& location, bool reusable) FRAY_EXCLUDES(mutex);

  std::optional<Block> take_warm(std::uint64_t size, bool room) FRAY_REQUIRES(mutex);
  Result<std::optional<Block>> take_range(std::uint32_t number, std::uint64_t size) FRAY_REQUIRES(mutex);
  Status populate_up_to(Segment& slab, std::uint64_t end);
  void take_back_own(Segments::iterator found, bool reusable, Dropped& dropped) FRAY_REQUIRES(mutex);
  void take_back_range(Segments::iterator found, std::uint64_t offset, bool reusable, Dropped& dropped)
      FRAY_REQUIRES(mutex);
  void move_out(Segments::iterator found, Dropped& dropped) FRAY_REQUIRES(mutex);
  std::uint32_t new_number(std::uint32_t kind_bit) FRAY_REQUIRES(mutex);
  Block block_in(std::uint32_t number, const Segment& segment, std::uint64_t offset, std::uint64_t size) const;

  const PoolOptions options;
  MemoryBudget& budget;
  os::MemoryFiles& files;

  mutable Mutex mutex;
  Segments segments FRAY_GUARDED_BY(mutex);
  std::set<std::uint32_t> slabs FRAY_GUARDED_BY(mutex);
  std::set<std::pair<std::uint64_t, std::uint32_t>> warm FRAY_GUARDED_BY(mutex);  // (size, number) of free own segments
  std::uint64_t warm_bytes FRAY_GUARDED_BY(mutex) = 0;
  std::uint64_t segment_bytes FRAY_GUARDED_BY(mutex) = 0;
  std::uint64_t object_bytes FRAY_GUARDED_BY(mutex) = 0;
  std::uint64_t objects FRAY_GUARDED_BY(mutex) = 0;
  std::size_t kept_descriptors FRAY_GUARDED_BY(mutex) = 0;  // of published segments
  std::uint32_t last_number FRAY_GUARDED_BY(mutex) = 0;
};

// ---- making and dropping segments

Result<Segment> SegmentPool::State::make_segment(std::uint64_t bytes) {
  Segment segment;
  FRAY_ASSIGN_OR_RETURN(segment.descriptor, files.create(bytes));
  FRAY_ASSIGN_OR_RETURN(std::byte* const data, files.map(segment.descriptor.get(), bytes, os::Access::kReadWrite));
  segment.mapping = std::make_shared<Mapping>(data, bytes, os::Access::kReadWrite);
  return segment;
}

// Gives warm segments of this process back before it reports that no memory is left.
Result<Segment> SegmentPool::State::make_within_budget(std::uint64_t bytes) {
  Status granted = budget.reserve(bytes);
  if (granted.code() == StatusCode::kStoreFull && release(bytes) > 0) granted = budget.reserve(bytes);
  FRAY_RETURN_IF_ERROR(granted);
  Result<Segment> made = make_segment(bytes);
  if (made.status().code() == StatusCode::kResourceExhausted && release(~std::uint64_t{0}) > 0) {
    made = make_segment(bytes);
  }
  if (!made.is_ok()) budget.unreserve(bytes);
  return made;
}

void SegmentPool::State::move_out(Segments::iterator found, Dropped& dropped) {
  const std::uint32_t number = found->first;
  segment_bytes -= found->second.size();
  slabs.erase(number);
  if (found->second.published && found->second.descriptor.is_open()) --kept_descriptors;
  if (warm.erase({found->second.size(), number}) > 0) warm_bytes -= found->second.size();
  dropped.emplace_back(SegmentId{options.writer, number}, std::move(found->second));
  segments.erase(found);
}

void SegmentPool::State::give_up(Dropped dropped) {
  for (auto& [id, segment] : dropped) {
    const std::uint64_t bytes = segment.size();
    segment.mapping.reset();
    segment.descriptor.reset();
    if (segment.published) budget.forget(id);
    budget.unreserve(bytes);
  }
}

std::uint64_t SegmentPool::State::release(std::uint64_t bytes) {
  Dropped dropped;
  std::uint64_t released = 0;
  {
    MutexLock lock(mutex);
    while (!warm.empty() && released < bytes) {  // the largest first, which needs the fewest calls
      const auto [size, number] = *warm.rbegin();
      move_out(segments.find(number), dropped);
      released += size;
    }
    const std::set<std::uint32_t> candidates = slabs;
    for (const std::uint32_t number : candidates) {
      const auto slab = segments.find(number);
      if (released >= bytes) break;
      if (!slab->second.ranges->empty()) continue;
      released += slab->second.size();
      move_out(slab, dropped);
    }
  }
  give_up(std::move(dropped));
  return released;
}

// ---- allocating

Block SegmentPool::State::block_in(std::uint32_t number, const Segment& segment, std::uint64_t offset,
                                   std::uint64_t size) const {
  Block block;
  block.location = {{options.writer, number}, offset, size};
  block.data = segment.mapping->writable_data() + offset;
  block.cold = !segment.ranges && segment.cold;
  block.descriptor = segment.ranges || segment.published ? -1 : segment.descriptor.get();
  return block;
}

// A process that lives long enough uses all numbers once, and then those whose segment is gone.
std::uint32_t SegmentPool::State::new_number(std::uint32_t kind_bit) {
  for (;;) {
    last_number = (last_number + 1) & ~kSlabNumberBit;
    if (!segments.contains(last_number | kind_bit)) return last_number | kind_bit;
  }
}

// A room needs a descriptor.
std::optional<Block> SegmentPool::State::take_warm(std::uint64_t size, bool room) {
  auto found = warm.lower_bound({size, 0});
  while (room && found != warm.end() && !segments.at(found->second).descriptor.is_open()) ++found;
  if (found == warm.end() || found->first / 2 > os::round_up_to_page(size)) return std::nullopt;
  const std::uint32_t number = found->second;
  warm_bytes -= found->first;
  warm.erase(found);
  Segment& segment = segments.at(number);
  segment.object_bytes = size;
  object_bytes += size;
  ++objects;
  return block_in(number, segment, 0, size);
}

Result<Block> SegmentPool::State::allocate_own(std::uint64_t size, bool room) {
  {
    MutexLock lock(mutex);
    if (const std::optional<Block> block = take_warm(size, room)) return *block;
  }
  FRAY_ASSIGN_OR_RETURN(Segment made, make_within_budget(os::round_up_to_page(size)));
  MutexLock lock(mutex);
  const std::uint32_t number = new_number(0);
  made.object_bytes = size;
  made.room = room;
  segment_bytes += made.size();
  object_bytes += size;
  ++objects;
  const Block block = block_in(number, made, 0, size);
  segments.emplace(number, std::move(made));
  return block;
}

Status SegmentPool::State::populate_up_to(Segment& slab, std::uint64_t end) {
  if (end <= slab.populated_bytes) return Status::ok();
  const std::uint64_t begin = slab.populated_bytes;
  end = std::min((end + kPopulateStepBytes - 1) / kPopulateStepBytes * kPopulateStepBytes, slab.size());
  FRAY_RETURN_IF_ERROR(files.populate(slab.mapping->writable_data() + begin, end - begin));
  slab.populated_bytes = end;
  return Status::ok();
}

Result<std::optional<Block>> SegmentPool::State::take_range(std::uint32_t number, std::uint64_t size) {
  Segment& slab = segments.at(number);
  const std::optional<std::uint64_t> offset = slab.ranges->allocate(size);
  if (!offset) return std::optional<Block>();
  const Status populated = populate_up_to(slab, *offset + size);
  if (!populated.is_ok()) {
    slab.ranges->free(*offset);
    return populated;
  }
  object_bytes += size;
  ++objects;
  return std::optional<Block>(block_in(number, slab, *offset, size));
}

Result<Block> SegmentPool::State::allocate_in_slab(std::uint64_t size) {
  {
    MutexLock lock(mutex);
    for (const std::uint32_t number : slabs) {
      FRAY_ASSIGN_OR_RETURN(const std::optional<Block> block, take_range(number, size));
      if (block) return *block;
    }
  }
  FRAY_ASSIGN_OR_RETURN(Segment made, make_within_budget(kSlabBytes));
  Dropped dropped;
  Result<Block> answer = [&]() -> Result<Block> {
    MutexLock lock(mutex);
    const std::uint32_t number = new_number(kSlabNumberBit);
    made.ranges.emplace(kSlabBytes, kObjectAlignment);
    segment_bytes += kSlabBytes;
    const auto slab = segments.emplace(number, std::move(made)).first;
    slabs.insert(number);
    auto block = take_range(number, size);
    if (block.is_ok()) return **block;
    move_out(slab, dropped);
    return block.status();
  }();
  give_up(std::move(dropped));
  return answer;
}

// ---- taking back

void SegmentPool::State::take_back_own(Segments::iterator found, bool reusable, Dropped& dropped) {
  Segment& segment = found->second;
  segment.object_bytes.reset();
  const bool keep = reusable && is_unpinned(segment.mapping) &&
                    segment.size() <= options.warm_limit_bytes - std::min(warm_bytes, options.warm_limit_bytes);
  if (!keep) return move_out(found, dropped);
  if (segment.cold && segment.descriptor.is_open()) {
    const auto allocated = os::allocated_bytes(segment.descriptor.get());
    segment.cold = !allocated.is_ok() || allocated.value() < segment.size();
  }
  warm.emplace(segment.size(), found->first);
  warm_bytes += segment.size();
}

// One empty slab is kept, so that a single small object that is made and dropped repeatedly does not make slabs.
void SegmentPool::State::take_back_range(Segments::iterator found, std::uint64_t offset, bool reusable,
                                         Dropped& dropped) {
  RangeAllocator& ranges = *found->second.ranges;
  if (reusable) {
    ranges.free(offset);
  } else {
    ranges.retire(offset);
  }
  if (!ranges.empty()) return;
  const bool another = std::any_of(slabs.begin(), slabs.end(), [&](std::uint32_t number) FRAY_REQUIRES(mutex) {
    return number != found->first && segments.at(number).ranges->empty();
  });
  if (another || ranges.retired_bytes() > 0 || !is_unpinned(found->second.mapping)) move_out(found, dropped);
}

Status SegmentPool::State::take_back(const Location& location, bool reusable) {
  Dropped dropped;
  {
    MutexLock lock(mutex);
    const auto found = segments.find(location.segment.number);
    if (found == segments.end() || location.segment.writer != options.writer) return unknown(location);
    if (!holds_object(found->second, location)) return no_such_object(location);
    object_bytes -= location.size;
    --objects;
    if (found->second.ranges) {
      take_back_range(found, location.offset, reusable, dropped);
    } else {
      take_back_own(found, reusable, dropped);
    }
  }
  give_up(std::move(dropped));
  return Status::ok();
}

// ---- the interface

SegmentPool::SegmentPool(const PoolOptions& options, MemoryBudget& budget, os::MemoryFiles& files)
    : state_(std::make_unique<State>(options, budget, files)) {}

// The budget is not informed: the node learns of the end from the closed connection.
SegmentPool::~SegmentPool() = default;

Result<Block> SegmentPool::allocate(std::uint64_t size) {
  constexpr std::uint64_t kMostBytes = 1ull << 47;  // what an address space can hold
  if (size > kMostBytes) {
    return Status(StatusCode::kInvalidArgument, "an object of " + std::to_string(size) + " bytes is not possible");
  }
  return size >= kOwnSegmentBytes ? state_->allocate_own(size, false) : state_->allocate_in_slab(size);
}

Result<Block> SegmentPool::allocate_room(std::uint64_t size) { return state_->allocate_own(size, true); }

Status SegmentPool::take_private(const Location& location) {
  MutexLock lock(state_->mutex);
  const auto found = state_->segments.find(location.segment.number);
  if (found == state_->segments.end() || !holds_object(found->second, location)) return no_such_object(location);
  Segment& segment = found->second;
  if (!segment.descriptor.is_open()) return no_such_object(location);
  FRAY_ASSIGN_OR_RETURN(std::byte* const moved, state_->files.make_private(segment.mapping->writable_data(),
                                                                           segment.size(), segment.descriptor.get()));
  const auto shared = std::make_shared<Mapping>(moved, segment.size(), os::Access::kReadWrite);
  std::exchange(segment.mapping, shared)->become_private(shared);
  return Status::ok();
}

Status SegmentPool::populate(const Block& block) {
  if (!block.cold) return Status::ok();
  return state_->files.populate(block.data, os::round_up_to_page(block.location.size));
}

Result<Publication> SegmentPool::publish(SegmentId id) {
  MutexLock lock(state_->mutex);
  const auto found = state_->segments.find(id.number);
  if (found == state_->segments.end() || id.writer != state_->options.writer) return unknown({id, 0, 0});
  Segment& segment = found->second;
  Publication publication;
  publication.size = segment.size();
  if (segment.published) return publication;
  FRAY_RETURN_IF_ERROR(state_->files.seal(segment.descriptor.get()));
  const auto allocated = os::allocated_bytes(segment.descriptor.get());
  segment.cold = !allocated.is_ok() || allocated.value() < segment.size();
  segment.published = true;
  if (segment.room && state_->kept_descriptors < state_->options.most_descriptors) {
    publication.descriptor = os::another_descriptor(segment.descriptor.get());
  }
  if (publication.descriptor.is_open()) {
    ++state_->kept_descriptors;
  } else {
    publication.descriptor = std::move(segment.descriptor);
  }
  return publication;
}

Result<View> SegmentPool::view(const Location& location) const {
  MutexLock lock(state_->mutex);
  const auto found = state_->segments.find(location.segment.number);
  if (found == state_->segments.end() || location.segment.writer != state_->options.writer) return unknown(location);
  const Segment& segment = found->second;
  if (!holds_object(segment, location)) return no_such_object(location);
  return View{segment.mapping->bytes().subspan(location.offset, location.size), segment.mapping};
}

Status SegmentPool::free(const Location& location) { return state_->take_back(location, true); }

Status SegmentPool::retire(const Location& location) { return state_->take_back(location, false); }

Status SegmentPool::evict(SegmentId id) {
  State::Dropped dropped;  // unmapped after the lock is released
  MutexLock lock(state_->mutex);
  const auto found = state_->segments.find(id.number);
  if (found == state_->segments.end() || id.writer != state_->options.writer) return unknown({id, 0, 0});
  const Segment& segment = found->second;
  if (segment.ranges) return Status(StatusCode::kInvalidArgument, "a slab cannot be evicted: it is still written to");
  if (!segment.published || !segment.object_bytes) {
    return Status(StatusCode::kInvalidArgument, "the segment holds no published object");
  }
  if (!is_unpinned(segment.mapping)) return Status(StatusCode::kUnavailable, "the object is viewed in this process");
  state_->object_bytes -= *segment.object_bytes;
  --state_->objects;
  state_->move_out(found, dropped);
  return Status::ok();
}

std::uint64_t SegmentPool::release_warm(std::uint64_t bytes) { return state_->release(bytes); }

SegmentPool::Usage SegmentPool::usage() const {
  MutexLock lock(state_->mutex);
  Usage usage;
  usage.segment_bytes = state_->segment_bytes;
  usage.object_bytes = state_->object_bytes;
  usage.warm_bytes = state_->warm_bytes;
  usage.segments = state_->segments.size();
  usage.objects = state_->objects;
  return usage;
}

}  // namespace fray::store
