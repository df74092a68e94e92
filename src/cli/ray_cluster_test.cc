#include "cli/ray_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fray::cli {
namespace {

using testing::HasSubstr;

TEST(RayClusterTest, a_spec_names_the_dashboard) {
  auto spec = parse_ray_spec("ray?address=https://head:8265&ca_file=/etc/ca.pem&verify=false&namespace=x");
  ASSERT_TRUE(spec.is_ok()) << spec.status().message();
  EXPECT_EQ(spec->address, "https://head:8265");
  EXPECT_EQ(spec->ca_file, "/etc/ca.pem");
  EXPECT_FALSE(spec->verify);
}

TEST(RayClusterTest, what_is_no_spec_is_refused_with_what_to_write) {
  for (const char* text : {"ray", "ray?", "ray?address", "ray?adress=http://head:8265", "local?address=x",
                           "ray?address=http://a:1&verify=no"}) {
    auto spec = parse_ray_spec(text);
    ASSERT_FALSE(spec.is_ok()) << text;
    EXPECT_THAT(spec.status().message(), HasSubstr("ray?address=http://HOST:PORT")) << text;
  }
}

}  // namespace
}  // namespace fray::cli
