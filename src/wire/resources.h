// Resource sets and shapes of work in messages.
//
// Threading:  pure.
// Ownership:  values.
// Failure:    the reader fails on an amount that is negative, and on a resource without a name.
#pragma once

#include "model/resource_set.h"
#include "model/work_shape.h"
#include "wire/bytes.h"

namespace fray::wire {

void encode(ByteWriter& out, const ResourceSet& resources);
ResourceSet decode_resource_set(ByteReader& in);
void encode(ByteWriter& out, const WorkShape& shape);
WorkShape decode_work_shape(ByteReader& in);

}  // namespace fray::wire
