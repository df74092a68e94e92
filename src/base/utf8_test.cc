#include "base/utf8.h"

#include <gtest/gtest.h>

namespace fray {
namespace {

TEST(Utf8, BytesThatAreNoCharacterAreShownByTheirNumbers) {
  EXPECT_EQ(shown_utf8("/tmp/h\xFF"), "/tmp/h\\xFF");
  EXPECT_EQ(shown_utf8("g\xC3\xBCn"), "g\xC3\xBCn");
  EXPECT_EQ(shown_utf8("cut \xC3"), "cut \\xC3");
  EXPECT_EQ(shown_utf8(""), "");
}

}  // namespace
}  // namespace fray
