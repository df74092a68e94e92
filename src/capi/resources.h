// Resources in the C API: what a task or an actor asks for.
//
// Threading:  pure.
// Ownership:  values.
// Failure:    kInvalidArgument names the amount or the priority that cannot be.
#pragma once

#include <cstddef>

#include <fmt/format.h>
#include <fray.h>

#include "base/status.h"
#include "model/work_shape.h"

namespace fray::capi {

Status set_resources(ResourceSet* set, double num_cpus, const fray_resource* resources, std::size_t count);

// What the options of a task or an actor say about the workers that will do.
template <typename Options>
Status read_shape(const Options& options, WorkShape* shape) {
  if (options.priority < -WorkShape::kMostPriority || options.priority > WorkShape::kMostPriority) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("priority is {}; it must be from {} to {}", options.priority, -WorkShape::kMostPriority,
                              WorkShape::kMostPriority));
  }
  shape->priority = options.priority;
  return set_resources(&shape->resources, options.num_cpus, options.resources, options.resource_count);
}

}  // namespace fray::capi
