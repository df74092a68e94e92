#include "model/json_text.h"

#include <string>

#include <gtest/gtest.h>

namespace fray {
namespace {

std::string nested(std::size_t depth, const std::string& open, const std::string& close) {
  std::string text;
  for (std::size_t i = 0; i < depth; ++i) text += open;
  text += "1";
  for (std::size_t i = 0; i < depth; ++i) text += close;
  return text;
}

TEST(JsonText, NestsAsDeepAsTheLimitAndNoDeeper) {
  for (const auto& [open, close] : {std::pair{"[", "]"}, {R"({"a":)", "}"}, {R"([{"]":)", "}]"}}) {
    const std::size_t levels = std::string(open).starts_with("[{") ? 2 : 1;
    EXPECT_FALSE(parse_json(nested(kMostJsonDepth / levels, open, close)).is_discarded()) << open;
    EXPECT_TRUE(parse_json(nested(kMostJsonDepth / levels + 1, open, close)).is_discarded()) << open;
    EXPECT_TRUE(parse_json(nested(1'000'000, open, close)).is_discarded()) << open;
  }
}

TEST(JsonText, BracketsInTextsAndSideBySideDoNotCount) {
  const std::string brackets(10 * kMostJsonDepth, '[');
  EXPECT_FALSE(parse_json("[\"" + brackets + R"(\"[[\\", ")" + brackets + "\"]").is_discarded());
  std::string rows = "[0";
  for (int i = 0; i < 1000; ++i) rows += ",[{}]";
  EXPECT_EQ(parse_json(rows + "]").size(), 1001u);
}

TEST(JsonText, WhatIsNoJsonIsDiscardedAndOfNoType) {
  for (const char* text : {"", "{", "]]]]", "\"", "[1]]", "\xff", "{\"a\":1,}", "\"\\"}) {
    const nlohmann::json document = parse_json(text);
    EXPECT_TRUE(document.is_discarded()) << text;
    EXPECT_FALSE(document.is_object() || document.is_array() || document.is_string()) << text;
  }
}

}  // namespace
}  // namespace fray
