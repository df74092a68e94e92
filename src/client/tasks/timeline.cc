#include "client/tasks/timeline.h"

#include <algorithm>

namespace fray::client {

namespace {

constexpr std::size_t kFirstRuns = 1024;
constexpr std::size_t kNameOverheadBytes = 128;  // of its entry, and of the table that finds it

std::size_t cost_of(std::string_view name) { return name.size() + kNameOverheadBytes; }

}  // namespace

void Timeline::add(std::string_view name, Run run) {
  if (count_ == kCapacity) drop_oldest();
  run.name = place_of(name);
  ++names_[run.name].runs;
  while (name_bytes_ > kMostNameBytes && count_ > 0) drop_oldest();
  if (count_ == ring_.size()) grow();
  std::size_t next = oldest_ + count_;
  ring_[next < ring_.size() ? next : next - ring_.size()] = run;
  ++count_;
}

std::uint32_t Timeline::place_of(std::string_view name) {
  if (last_place_ < names_.size() && names_[last_place_].runs > 0 && names_[last_place_].text == name) {
    return last_place_;
  }
  auto known = places_.find(name);
  if (known != places_.end()) return last_place_ = known->second;
  if (free_places_.empty()) {
    free_places_.push_back(static_cast<std::uint32_t>(names_.size()));
    names_.emplace_back();
  }
  last_place_ = free_places_.back();
  free_places_.pop_back();
  Name& made = names_[last_place_];
  made.text = name;
  places_.emplace(made.text, last_place_);
  name_bytes_ += cost_of(name);
  return last_place_;
}

void Timeline::drop_oldest() {
  std::uint32_t place = ring_[oldest_].name;
  oldest_ = oldest_ + 1 == ring_.size() ? 0 : oldest_ + 1;
  --count_;
  ++dropped_;
  Name& name = names_[place];
  if (--name.runs > 0) return;
  name_bytes_ -= cost_of(name.text);
  places_.erase(name.text);
  name.text = std::string();  // frees its memory
  free_places_.push_back(place);
}

void Timeline::grow() {
  std::vector<Run> wider;
  for (std::size_t i = 0; i < count_; ++i) wider.push_back(ring_[(oldest_ + i) % ring_.size()]);
  wider.resize(std::clamp(2 * count_, kFirstRuns, kCapacity));
  ring_ = std::move(wider);
  oldest_ = 0;
}

void Timeline::add_failure(std::string_view name, std::uint64_t task, bool packed, std::string_view bytes) {
  if (failures_.size() >= kMostFailures || (packed && bytes.size() > kMostBytesOfOneFailure)) return;
  bytes = bytes.substr(0, kMostBytesOfOneFailure);
  const std::size_t cost = name.size() + bytes.size();
  if (failure_bytes_ + cost > kMostFailureBytes) return;
  failure_bytes_ += cost;
  failures_.push_back({std::string(name), task, packed, std::string(bytes)});
}

Timeline::Runs Timeline::runs() const {
  Runs all;
  all.runs.reserve(count_);
  for (std::size_t i = 0; i < count_; ++i) {
    std::size_t place = oldest_ + i;
    all.runs.push_back(ring_[place < ring_.size() ? place : place - ring_.size()]);
  }
  all.names.reserve(names_.size());
  for (const Name& name : names_) all.names.push_back(name.text);
  return all;
}

}  // namespace fray::client
