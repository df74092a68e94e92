// WorkShape: what a unit of work needs: a task, or an actor for its life. Work of one shape can use the same workers.
//
//   WorkShape shape{.resources = cpu, .key = 7};
//   WorkShape::visit(shape, [](const char* name, const auto& field) { ... });     // every field with its name
//
// A shape is one value from the options that Python and C++ give to the lease table and `fray status`. Messages, the
// Python extension and the status report go through visit(), so that none of them names the fields again.
//
// Threading:  a value.
// Ownership:  owns the names of its resources.
// Failure:    none.
#pragma once

#include <cstdint>
#include <limits>

#include "model/ids.h"
#include "model/resource_set.h"

namespace fray {

struct WorkShape {
  ResourceSet resources;
  WorkerKeyId key = 0;  // the worker key: by the client's own number, or in the lease table by the node's
  // Higher priorities are placed first; from -kMostPriority to kMostPriority, which the interfaces check.
  static constexpr std::int32_t kMostPriority = 1000;
  std::int32_t priority = 0;
  std::uint32_t depth = 0;  // 0: submitted by a driver; what a task submits is one deeper than the task

  template <typename Shape, typename Visitor>
  static void visit(Shape& shape, Visitor&& visitor) {
    visitor("key", shape.key);
    visitor("depth", shape.depth);
    visitor("priority", shape.priority);
    visitor("resources", shape.resources);
  }

  // Whether this is `asked` submitted at a depth of `at`. Options do not know yet how deep they will be submitted, and
  // to copy them for each task in order to say so would cost too much.
  bool is(const WorkShape& asked, std::uint32_t at) const {
    return key == asked.key && depth == at && priority == asked.priority && resources == asked.resources;
  }
  WorkShape at_depth(std::uint32_t at) const {
    WorkShape shape = *this;
    shape.depth = at;
    return shape;
  }
  // The least shape of a key, in the order below.
  static WorkShape first_of(WorkerKeyId key) {
    return {.key = key, .priority = std::numeric_limits<std::int32_t>::min()};
  }
  // Of all shapes that differ in their key alone.
  WorkShape of_any_key() const {
    WorkShape shape = *this;
    shape.key = 0;
    return shape;
  }

  friend bool operator==(const WorkShape&, const WorkShape&) = default;
  // Those of one key stand together.
  friend bool operator<(const WorkShape& a, const WorkShape& b) {
    if (a.key != b.key) return a.key < b.key;
    if (a.depth != b.depth) return a.depth < b.depth;
    if (a.priority != b.priority) return a.priority < b.priority;
    return a.resources < b.resources;
  }
};

}  // namespace fray
