#include "model/json_fields.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace fray {
namespace {

struct Wheel {
  std::uint32_t spokes = 0;
  std::string maker = "nobody";

  static void visit(auto& wheel, auto&& field) {
    field("spokes", wheel.spokes);
    field(LaterField{"maker"}, wheel.maker);
  }
  friend bool operator==(const Wheel&, const Wheel&) = default;
};

struct Cart {
  std::string name;
  bool loaded = false;
  std::vector<Wheel> wheels;

  FRAY_FIELDS(name, loaded, wheels);
  friend bool operator==(const Cart&, const Cart&) = default;
};

Result<Cart> read_cart(std::string_view text) { return read_fields<Cart>(text, "this is no cart"); }

TEST(JsonFields, StructWithListsOfStructsComesBackAsItWas) {
  const Cart cart{"a \"b\"\n", true, {{12, "x"}, {16, ""}}};
  auto again = read_cart(fields_text(cart));
  ASSERT_TRUE(again.is_ok()) << again.status().message();
  EXPECT_EQ(*again, cart);
}

TEST(JsonFields, FieldOfALaterReleaseMayBeMissingAndKeepsItsDefault) {
  auto cart = read_cart(R"({"name": "c", "loaded": false, "wheels": [{"spokes": 8}], "of another release": 1})");
  ASSERT_TRUE(cart.is_ok()) << cart.status().message();
  EXPECT_EQ(cart->wheels, (std::vector<Wheel>{{8, "nobody"}}));
}

TEST(JsonFields, TextThatIsNoSuchObjectIsRefusedInTheWordsOfTheCaller) {
  for (const char* text :
       {"", "[]", "7", "{}", R"({"name": "c", "wheels": []})", R"({"name": "c", "loaded": false)",
        R"({"name": 3, "loaded": false, "wheels": []})", R"({"name": "c", "loaded": 0, "wheels": []})",
        R"({"name": "c", "loaded": false, "wheels": [3]})",
        R"({"name": "c", "loaded": false, "wheels": [{"maker": "x"}]})",
        R"({"name": "c", "loaded": false, "wheels": [{"spokes": 1, "maker": null}]})"}) {
    auto cart = read_cart(text);
    ASSERT_FALSE(cart.is_ok()) << text;
    EXPECT_EQ(cart.status().code(), StatusCode::kCorruption) << text;
    EXPECT_EQ(cart.status().message(), "this is no cart") << text;
  }
}

}  // namespace
}  // namespace fray
