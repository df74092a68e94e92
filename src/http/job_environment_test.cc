#include "http/job_environment.h"

#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/runtime_env_spec.h"

namespace fray::http {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class JobEnvironmentTest : public testing::Test {
 protected:
  ~JobEnvironmentTest() override { std::filesystem::remove_all(folder_); }

  Status set_ray(const json& env) { return describe_ray_environment(python_, packages_, env, &order_); }
  Status set_own(const json& env, const OwnPython& python) {
    order_.runtime_env = env.dump();
    return describe_environment(python, &order_);
  }
  RuntimeEnvSpec spec() { return parse_runtime_env_spec(order_.runtime_env).value(); }

  static std::string fresh_folder() {
    std::string folder = testing::TempDir() + "/environments_XXXXXX";
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
    return folder;
  }

  const std::string folder_ = fresh_folder();
  PackageStore packages_{folder_};
  OwnPython python_{"/venv/bin/python3", "/venv/lib/python3.11/site-packages"};
  JobSpec order_;
};

TEST_F(JobEnvironmentTest, NothingIsToBeBuiltForVariablesAlone) {
  ASSERT_TRUE(set_ray({{"env_vars", {{"A", "1"}}}, {"config", {{"eager_install", true}}}}).is_ok());
  EXPECT_EQ(order_.environment.at("A"), "1");
  EXPECT_EQ(order_.runtime_env, "");
}

TEST_F(JobEnvironmentTest, UploadedPackageBecomesTheWorkingFolder) {
  auto draft = packages_.begin("gcs", "_ray_pkg_0123456789abcdef.zip");
  ASSERT_TRUE((*draft)->finish().is_ok());
  ASSERT_TRUE(set_ray({{"working_dir", "gcs://_ray_pkg_0123456789abcdef.zip"}}).is_ok());
  EXPECT_EQ(spec().working_dir, folder_ + "/_ray_pkg_0123456789abcdef.zip");
  EXPECT_EQ(spec().purpose, "job");
}

TEST_F(JobEnvironmentTest, RaysFormsOfPackagesAreFraysRequirements) {
  for (const json& pip :
       {json{{"pip", {"six>=1", "numpy"}}},
        json{{"pip", {{"packages", {"six>=1", "numpy"}}, {"pip_check", false}, {"pip_version", "24"}}}},
        json{{"uv", {{"packages", {"six>=1", "numpy"}}}}}}) {
    order_ = {};
    Status set = set_ray(pip);
    ASSERT_TRUE(set.is_ok()) << set.message();
    EXPECT_THAT(spec().packages, ElementsAre("six>=1", "numpy"));
    EXPECT_EQ(spec().python, python_.program);
    EXPECT_THAT(spec().site_packages, ElementsAre(python_.site_packages));
  }
  order_ = {};
  ASSERT_TRUE(set_ray({{"conda", {{"dependencies", {"numpy=2"}}}}}).is_ok());
  EXPECT_THAT(spec().conda, ElementsAre("numpy=2"));
}

TEST_F(JobEnvironmentTest, WhatIsNotSupportedIsNamedAndValuesAreNot) {
  for (const auto& [env, words] : {std::pair<json, const char*>{{{"py_modules", {"gcs://hidden.zip"}}}, "py_modules"},
                                   {{{"py_executable", "hidden"}}, "py_executable"},
                                   {{{"worker_process_setup_hook", "hidden"}}, "worker_process_setup_hook"},
                                   {{{"working_dir", "s3://hidden/a.zip"}}, "working_dir"},
                                   {{{"working_dir", "gcs://missing.zip"}}, "missing.zip"},
                                   {{{"pip", "hidden.txt"}}, "pip names a file"},
                                   {{{"pip", {{"packages", {"six"}}, {"pip_check", true}}}}, "pip_check"},
                                   {{{"pip", {"six"}}, {"uv", {"six"}}}, "pip and uv"},
                                   {{{"pip", {"six"}}, {"conda", {{"dependencies", {"numpy"}}}}}, "packages and conda"},
                                   {{{"conda", "hidden"}}, "conda"},
                                   {{{"env_vars", {{"SECRET", 4711}}}}, "SECRET"}}) {
    order_ = {};
    Status refused = set_ray(env);
    EXPECT_FALSE(refused.is_ok()) << env.dump();
    EXPECT_THAT(refused.message(), HasSubstr(words));
    EXPECT_THAT(refused.message(), Not(HasSubstr("hidden")));
    EXPECT_THAT(refused.message(), Not(HasSubstr("4711")));
  }
}

TEST_F(JobEnvironmentTest, FraysOwnFormIsThatOfRuntimeEnv) {
  const json env = {{"package_requirements", {"six"}}, {"working_dir", "/srv/project"}};
  ASSERT_TRUE(set_own(env, python_).is_ok());
  EXPECT_THAT(spec().packages, ElementsAre("six"));
  EXPECT_EQ(spec().working_dir, "/srv/project");
  EXPECT_THAT(
      set_own({{"pip", {"six"}}}, python_).message(),
      HasSubstr("there is no key \"pip\"; the keys are package_requirements, conda, working_dir, container_image"));
  EXPECT_THAT(set_own({{"package_requirements", {"six"}}}, {}).message(), HasSubstr("part of no Python environment"));
}

}  // namespace
}  // namespace fray::http
