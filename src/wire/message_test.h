// What the tests of messages have in common.
//
// Threading:  one thread.
// Ownership:  none.
// Failure:    a message that does not read back as written fails the test.
#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "wire/codec.h"

namespace fray::wire {

// A message is read as written, and no prefix of it is taken for a whole one.
template <typename Message>
Message round_trip(const Message& message) {
  std::string bytes = encoded(message);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode<Message>(std::string_view(bytes).substr(0, size)).is_ok()) << size;
  }
  EXPECT_FALSE(decode<Message>(bytes + "x").is_ok());
  return decode<Message>(bytes).value();
}

}  // namespace fray::wire
