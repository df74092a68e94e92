// Resource sets in messages.
//
// Threading:  pure.
// Ownership:  values.
// Failure:    the reader fails on an amount that is negative, and on a resource without a name.
#pragma once

#include "model/resource_set.h"
#include "wire/codec.h"

namespace fray::wire {

void encode(ByteWriter& out, const ResourceSet& resources);
void decode(ByteReader& in, ResourceSet& resources);

}  // namespace fray::wire
