// What the tests of messages have in common.
//
// Threading:  one thread.
// Ownership:  none.
// Failure:    a message that does not read back as written fails the test.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "wire/codec.h"
#include "wire/message_changer_test.h"

namespace fray::wire {

// How many members a struct has: as many as it can be made of.
struct Anything {
  template <typename T>
  operator T() const;  // NOLINT: it stands for anything
};

template <typename T, typename... Given>
constexpr std::size_t members_of() {
  if constexpr (requires { T{Given{}..., Anything{}}; }) {
    return members_of<T, Given..., Anything>();
  } else {
    return sizeof...(Given);
  }
}

template <ListsFields T>
std::size_t fields_of() {
  T value;
  std::size_t count = 0;
  T::visit(value, [&count](const char*, auto&) { ++count; });
  return count;
}

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

// Whatever its fields are, it is read as it was written.
template <typename Message>
void expect_any_reads_back(std::uint32_t seed) {
  MessageChanger changer(seed);
  Message message;
  for (int changes = 0; changes < 200; ++changes) {
    changer.change(message);
    const std::string bytes = encoded(message);
    auto read = decode<Message>(bytes);
    ASSERT_TRUE(read.is_ok()) << name_of_type<Message>() << " with seed " << seed;
    ASSERT_EQ(encoded(*read), bytes) << name_of_type<Message>() << " with seed " << seed;
  }
}

}  // namespace fray::wire
