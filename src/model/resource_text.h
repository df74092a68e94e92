// Two sets of resources in one sentence: "asks for memory 8.1 GiB; this node has memory 8.0 GiB".
//
// Threading:  any thread.
// Ownership:  values.
// Failure:    none.
#pragma once

#include <string>

#include "model/resource_set.h"

namespace fray {

// As ResourceSet::to_string(), of a set that is compared with `other`: amounts that differ read differently.
std::string text_beside(const ResourceSet& set, const ResourceSet& other);

}  // namespace fray
