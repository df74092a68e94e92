#include "cli/amount.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fray::cli {
namespace {

TEST(Amount, SizesAreReadInBothSystemsOfUnits) {
  EXPECT_EQ(parse_size("--memory", "1").value(), 1u);
  EXPECT_EQ(parse_size("--memory", "4GiB").value(), std::uint64_t{4} << 30);
  EXPECT_EQ(parse_size("--memory", "4 g").value(), std::uint64_t{4} << 30);
  EXPECT_EQ(parse_size("--memory", "512MB").value(), 512'000'000u);
  EXPECT_EQ(parse_size("--memory", "1.5k").value(), 1536u);
}

TEST(Amount, SizesThatMakeNoSenseAreRefusedWithWhatWasGiven) {
  for (const char* text : {"", "0", "-1", "GiB", "4XiB", "nan", "inf", "0x10", "99999999999TiB", "1e3e"}) {
    auto size = parse_size("--memory", text);
    ASSERT_FALSE(size.is_ok()) << text;
    EXPECT_NE(size.status().message().find("--memory"), std::string::npos);
    EXPECT_NE(size.status().message().find("'" + std::string(text) + "'"), std::string::npos);
  }
}

TEST(Amount, ResourcesAreReadAsJsonAndAsPairs) {
  EXPECT_EQ(parse_resources("--resources", R"({"TPU": 4})").value()["TPU"], 4);
  auto pairs = parse_resources("--resources", "TPU:4,head_node:0.5").value();
  EXPECT_EQ(pairs["TPU"], 4);
  EXPECT_EQ(pairs["head_node"], 0.5);
}

TEST(Amount, ResourcesThatMakeNoSenseAreRefused) {
  for (const char* text : {"", "TPU", "TPU:", ":4", "TPU:four", "TPU:4x", "[1]", "4", ","}) {
    EXPECT_FALSE(parse_resources("--resources", text).is_ok()) << text;
  }
}

}  // namespace
}  // namespace fray::cli
