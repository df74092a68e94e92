#include "base/base64.h"

#include <gtest/gtest.h>

namespace fray {
namespace {

TEST(Base64Test, what_was_encoded_is_decoded) {
  std::string bytes;
  for (int size = 0; size < 300; ++size) {
    const std::string text = encode_base64(bytes);
    EXPECT_EQ(text.size() % 4, 0u);
    EXPECT_EQ(bytes_of_base64(text), bytes);
    EXPECT_EQ(decode_base64(text), bytes);
    bytes += static_cast<char>(size * 37);
  }
  EXPECT_EQ(encode_base64("hello"), "aGVsbG8=");
}

TEST(Base64Test, both_alphabets_are_read_with_or_without_padding) {
  EXPECT_EQ(decode_base64("aGVsbG8="), "hello");
  EXPECT_EQ(decode_base64("aGVsbG8"), "hello");
  EXPECT_EQ(decode_base64("-_8"), decode_base64("+/8"));
  EXPECT_EQ(decode_base64("!"), "");
}

TEST(Base64Test, what_is_none_is_told) {
  for (const char* text : {"a", "aGVsbG8", "aGVs!G8=", "====", "aGV=bG8=", "-_8=", "aG Vs"}) {
    EXPECT_EQ(bytes_of_base64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace fray
