// The identities that cross process borders.
//
// Threading:  values.
// Ownership:  none.
// Failure:    none; a decoder may produce ids that name nothing, and every table must say so itself.
#pragma once

#include <cstdint>
#include <functional>

namespace fray {

// A process connected to a node: a driver or a worker (which is a client of the node as well). Never 0; not reused
// within a node's life.
using ProcessId = std::uint32_t;

// One grant of one worker to one client. Not reused within a node's life.
using LeaseId = std::uint64_t;

// A worker key as numbered by the node: equal keys have equal numbers.
using WorkerKeyId = std::uint32_t;

// An object: who owns it (the process whose task or put made it) and that process's running number. `epoch` is drawn at
// random by each node, so a ref that strays into another engine is recognised.
struct ObjectId {
  std::uint32_t epoch = 0;
  ProcessId owner = 0;
  std::uint64_t sequence = 0;

  friend bool operator==(const ObjectId&, const ObjectId&) = default;
  friend auto operator<=>(const ObjectId&, const ObjectId&) = default;
};
static_assert(sizeof(ObjectId) == 16);

// An actor is named by an object that its creator drew: its handles are refs to that object.
using ActorId = ObjectId;

// A memfd of one writer. Large objects have a segment each, small ones share slabs.
struct SegmentId {
  ProcessId writer = 0;
  std::uint32_t number = 0;

  friend bool operator==(const SegmentId&, const SegmentId&) = default;
  friend auto operator<=>(const SegmentId&, const SegmentId&) = default;
};
static_assert(sizeof(SegmentId) == 8);

// Where a sealed object's bytes lie. Offsets and sizes in bytes.
struct Location {
  SegmentId segment;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;

  friend bool operator==(const Location&, const Location&) = default;
};
static_assert(sizeof(Location) == 24);

}  // namespace fray

template <>
struct std::hash<fray::ObjectId> {
  std::size_t operator()(const fray::ObjectId& id) const noexcept {
    std::uint64_t mixed = (static_cast<std::uint64_t>(id.owner) << 32) ^ id.sequence;
    mixed *= 0x9E3779B97F4A7C15ull;  // Fibonacci hashing: spreads running numbers over the buckets
    return static_cast<std::size_t>(mixed ^ (mixed >> 29));
  }
};

template <>
struct std::hash<fray::SegmentId> {
  std::size_t operator()(const fray::SegmentId& id) const noexcept {
    std::uint64_t mixed = (static_cast<std::uint64_t>(id.writer) << 32) | id.number;
    mixed *= 0x9E3779B97F4A7C15ull;
    return static_cast<std::size_t>(mixed ^ (mixed >> 29));
  }
};
