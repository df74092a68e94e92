// What the tests of messages have in common.
//
// Threading:  one thread.
// Ownership:  none.
// Failure:    a message that does not read back as written fails the test.
#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "wire/bytes.h"

namespace fray::wire {

template <typename Message>
std::string body_of(const Message& message) {
  std::string bytes;
  ByteWriter out(bytes);
  message.encode(out);
  return bytes;
}

// A message is read as written, and no prefix of it is taken for a whole one.
template <typename Message>
Message round_trip(const Message& message) {
  std::string bytes = body_of(message);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(Message::decode(std::string_view(bytes).substr(0, size)).is_ok()) << size;
  }
  EXPECT_FALSE(Message::decode(bytes + "x").is_ok());
  return Message::decode(bytes).value();
}

}  // namespace fray::wire
