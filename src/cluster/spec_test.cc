#include "cluster/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fray::cluster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(SpecTest, keys_are_decoded_and_the_last_of_one_counts) {
  auto spec = Spec::parse("ray?address=http%3A%2F%2Fhead%3A8265&verify=true&&verify=false&name=a+b%");
  ASSERT_TRUE(spec.is_ok()) << spec.status().message();
  EXPECT_EQ(spec->scheme, "ray");
  EXPECT_THAT(spec->keys,
              ElementsAre(Pair("address", "http://head:8265"), Pair("name", "a b%"), Pair("verify", "false")));
}

TEST(SpecTest, a_scheme_alone_has_no_keys) {
  for (const char* text : {"local", "local?"}) {
    auto spec = Spec::parse(text);
    ASSERT_TRUE(spec.is_ok()) << text;
    EXPECT_EQ(spec->scheme, "local");
    EXPECT_TRUE(spec->keys.empty());
  }
}

TEST(SpecTest, a_key_without_a_value_is_refused_by_its_name) {
  auto spec = Spec::parse("ray?address");
  EXPECT_EQ(spec.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(spec.status().message(), HasSubstr("write address=VALUE"));
}

}  // namespace
}  // namespace fray::cluster
