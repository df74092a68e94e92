#include "wire/codec.h"

#include <fmt/format.h>

namespace fray::wire {

Status misfit(std::string_view name) {
  return Status(StatusCode::kCorruption, fmt::format("a {} message does not fit its format", name));
}

}  // namespace fray::wire
