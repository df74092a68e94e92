#include "wire/value.h"

#include <gtest/gtest.h>

namespace fray::wire {
namespace {

std::string encoded(const Value& value) {
  std::string bytes;
  ByteWriter out(bytes);
  encode(out, value);
  return bytes;
}

TEST(Value, InlineValueWithRefsReadsBackAsWritten) {
  Value value;
  value.encoding = Encoding::kPickle;
  value.bytes = "pickle";
  value.nested = {{1, 2, 3}, {4, 5, 6}};
  std::string bytes = encoded(value);
  ByteReader in(bytes);
  Value read = decode_value(in).to_value();
  ASSERT_TRUE(in.done());
  EXPECT_EQ(read.encoding, Encoding::kPickle);
  EXPECT_EQ(read.bytes, "pickle");
  EXPECT_EQ(read.nested, value.nested);
}

TEST(Value, SealedValueCarriesItsPlace) {
  Value value;
  value.kind = ValueKind::kSealed;
  value.encoding = Encoding::kPickleBuffers;
  value.object = {7, 8, 9};
  value.location = {{3, 4}, 64, 1000};
  std::string bytes = encoded(value);
  ByteReader in(bytes);
  ValueView read = decode_value(in);
  ASSERT_TRUE(in.done());
  EXPECT_EQ(read.object, value.object);
  EXPECT_EQ(read.location, value.location);
}

TEST(Value, EveryTruncationIsRefused) {
  Value value;
  value.encoding = Encoding::kUtf8;
  value.bytes = "text";
  value.nested = {{1, 2, 3}};
  std::string bytes = encoded(value);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ByteReader in(std::string_view(bytes).substr(0, size));
    decode_value(in);
    EXPECT_FALSE(in.ok()) << size;
  }
}

TEST(Value, UnknownEncodingIsRefused) {
  std::string bytes = encoded(Value{});
  bytes[0] = 99;
  ByteReader in(bytes);
  decode_value(in);
  EXPECT_FALSE(in.ok());
}

TEST(Value, CountOfRefsBeyondTheBytesIsRefused) {
  std::string bytes = encoded(Value{});
  bytes[4] = bytes[5] = bytes[6] = bytes[7] = '\xff';
  ByteReader in(bytes);
  decode_value(in);
  EXPECT_FALSE(in.ok());
}

}  // namespace
}  // namespace fray::wire
