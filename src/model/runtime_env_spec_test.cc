#include "model/runtime_env_spec.h"

#include <gtest/gtest.h>

namespace fray {
namespace {

TEST(RuntimeEnvSpec, ComesBackFromItsText) {
  RuntimeEnvSpec spec;
  spec.python = "/usr/bin/python3";
  spec.packages = {"six>=1", "numpy"};
  spec.working_dir = "/srv/project";
  spec.variables = {"A"};
  auto read = parse_runtime_env_spec(to_json(spec));
  ASSERT_TRUE(read.is_ok()) << read.status().message();
  EXPECT_EQ(*read, spec);
}

TEST(RuntimeEnvSpec, IsEmptyWhenNothingIsToBeBuilt) {
  auto read = parse_runtime_env_spec(R"({"python": "/usr/bin/python3", "variables": ["A"]})");
  ASSERT_TRUE(read.is_ok());
  EXPECT_TRUE(read->empty());
}

TEST(RuntimeEnvSpec, RefusesWhatItDoesNotKnowAndWhatDoesNotFit) {
  for (const char* text : {"", "[]", "7", R"({"pip": ["six"]})", R"({"packages": "six"})", R"({"packages": [1]})",
                           R"({"python": 3})", "{\"python\": \"a\\u0000b\"}"}) {
    auto read = parse_runtime_env_spec(text);
    ASSERT_FALSE(read.is_ok()) << text;
    EXPECT_EQ(read.status().code(), StatusCode::kInvalidArgument);
  }
}

TEST(RuntimeEnvSpec, TwoKeysThatBothSayWhichPackagesThereAreAreRefused) {
  auto read = parse_runtime_env_spec(R"({"packages": ["six"], "conda": ["six"]})");
  ASSERT_FALSE(read.is_ok());
  EXPECT_NE(read.status().message().find("package_requirements and conda"), std::string::npos);
}

}  // namespace
}  // namespace fray
