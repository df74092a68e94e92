// decoded: the end of every message's decode(): a message that its body fits exactly, or kCorruption.
//
// Threading:  pure.
// Ownership:  the message is moved through.
// Failure:    kCorruption names the message; the connection that sent it must then be closed.
#pragma once

#include <string_view>
#include <utility>

#include "base/status.h"
#include "wire/codec.h"

namespace fray::wire {

template <typename Message>
Result<Message> decoded(const ByteReader& in, Message message, std::string_view name) {
  if (in.done()) return message;
  return misfit(name);
}

}  // namespace fray::wire
