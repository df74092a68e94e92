#include "runtime_env/package_build.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace fray::runtime_env {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(MissingPackages, AreTheLinesWithAPlus) {
  auto missing = missing_packages(
      "Resolved 3 packages in 10ms\nWould download 1 package\nWould uninstall 1 package\nWould install 2 packages\n"
      " - numpy==2.4.6\n + numpy==1.26.4\n + six==1.17.0\n");
  ASSERT_TRUE(missing.is_ok());
  EXPECT_THAT(*missing, ElementsAre("numpy==1.26.4", "six==1.17.0"));
}

TEST(MissingPackages, WhatComesFromAnAddressKeepsIt) {
  auto missing = missing_packages("Would install 1 package\n + my-pkg==0.1.0 (from file:///tmp/my_pkg-0.1.0.whl)\n");
  ASSERT_TRUE(missing.is_ok());
  EXPECT_THAT(*missing, ElementsAre("my-pkg @ file:///tmp/my_pkg-0.1.0.whl"));
}

TEST(MissingPackages, AreNoneWhenNothingWouldChange) {
  auto missing = missing_packages("Audited 1 package in 2ms\nWould make no changes\n");
  ASSERT_TRUE(missing.is_ok());
  EXPECT_THAT(*missing, IsEmpty());
}

TEST(MissingPackages, AnOutputThatIsNoPlanIsAnError) {
  EXPECT_EQ(missing_packages("hello\n").status().code(), StatusCode::kInternal);
  EXPECT_EQ(missing_packages("").status().code(), StatusCode::kInternal);
}

class PackageDigestTest : public testing::Test {
 protected:
  PackageDigestTest() {
    fs::create_directories(folder_ + "/site-packages/numpy-2.1.0.dist-info");
    spec_.python = "/bin/sh";
    spec_.packages = {"six", "numpy>=1"};
    spec_.site_packages = {folder_ + "/site-packages"};
  }
  ~PackageDigestTest() override { fs::remove_all(folder_); }

  std::string folder_ = testing::TempDir() + "fray-digest-" + std::to_string(::getpid());
  RuntimeEnvSpec spec_;
};

TEST_F(PackageDigestTest, DoesNotDependOnTheOrderOfTheLines) {
  RuntimeEnvSpec other = spec_;
  other.packages = {"numpy>=1", "six"};
  EXPECT_EQ(package_digest(spec_), package_digest(other));
}

TEST_F(PackageDigestTest, DependsOnEverythingThatDecidesWhatIsInstalled) {
  const std::string before = package_digest(spec_);
  RuntimeEnvSpec other = spec_;
  other.packages.push_back("attrs");
  EXPECT_NE(package_digest(other), before);
  other = spec_;
  other.python = "/bin/ls";
  EXPECT_NE(package_digest(other), before);
  fs::rename(folder_ + "/site-packages/numpy-2.1.0.dist-info", folder_ + "/site-packages/numpy-2.2.0.dist-info");
  EXPECT_NE(package_digest(spec_), before);
}

TEST_F(PackageDigestTest, ALocalFileCountsWithItsTime) {
  std::ofstream(folder_ + "/a.whl") << "one";
  spec_.packages = {"a @ file://" + folder_ + "/a.whl"};
  const std::string before = package_digest(spec_);
  std::ofstream(folder_ + "/a.whl") << "longer";
  EXPECT_NE(package_digest(spec_), before);
}

TEST(InstallPackages, AFailureHasTheLastFiftyLinesAndNoPassword) {
  const std::string folder = testing::TempDir() + "fray-install-" + std::to_string(::getpid());
  fs::create_directories(folder);
  std::ofstream(folder + "/uv")
      << "#!/bin/sh\nfor i in $(seq 1 60); do echo line-$i- https://me:pw@host/; done\nexit 2\n";
  fs::permissions(folder + "/uv", fs::perms::owner_all);
  RuntimeEnvSpec spec;
  spec.python = "/usr/bin/python3";
  spec.packages = {"six", "--index-url https://me:secret@host/simple"};
  auto made = install_packages(spec, folder, folder + "/uv", {{"PATH", "/usr/bin:/bin"}}, BuildWatch());
  ASSERT_FALSE(made.is_ok());
  EXPECT_EQ(made.status().code(), StatusCode::kRuntimeEnv);
  EXPECT_THAT(made.status().message(), HasSubstr("installing the packages six failed: uv ended with code 2"));
  EXPECT_THAT(made.status().message(), HasSubstr("line-60-"));
  EXPECT_THAT(made.status().message(), HasSubstr("line-11-"));
  EXPECT_THAT(made.status().message(), Not(HasSubstr("line-10-")));
  EXPECT_THAT(made.status().message(), Not(HasSubstr("pw@")));
  EXPECT_THAT(made.status().message(), Not(HasSubstr("secret")));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace fray::runtime_env
