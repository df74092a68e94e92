#include "os/machine/installation.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace fray::os {
namespace {

namespace fs = std::filesystem;

// A folder with environments in it. $PATH and $VIRTUAL_ENV are the test's own while it lives.
class InstallationTest : public testing::Test {
 protected:
  InstallationTest() {
    std::string name = (fs::temp_directory_path() / "fray-installation-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
    ::setenv("PATH", path("tools").c_str(), 1);
    ::unsetenv("VIRTUAL_ENV");
  }
  ~InstallationTest() override {
    fs::remove_all(root_);
    ::setenv("PATH", old_path_.c_str(), 1);
    if (!old_active_.empty()) ::setenv("VIRTUAL_ENV", old_active_.c_str(), 1);
  }

  std::string path(const std::string& relative) const { return (root_ / relative).string(); }
  std::string program(const std::string& relative) const {
    fs::create_directories(fs::path(path(relative)).parent_path());
    std::ofstream(path(relative)) << "#!/bin/sh\n";
    fs::permissions(path(relative), fs::perms::owner_all);
    return path(relative);
  }

 private:
  static std::string variable(const char* name) { return std::getenv(name) == nullptr ? "" : std::getenv(name); }

  fs::path root_;
  const std::string old_path_ = variable("PATH");
  const std::string old_active_ = variable("VIRTUAL_ENV");
};

TEST_F(InstallationTest, ProgramsAndLibrariesOfAPackageBelongToTheEnvironmentThatItIsIn) {
  for (const char* file : {"own/lib/python3.12/site-packages/fray/_bin/fray", "own/bin/fray",
                           "own/lib/python3.12/site-packages/fray/_cpp/lib/libfray.so"}) {
    EXPECT_EQ(Installation::of(path(file)).environment, path("own")) << file;
  }
  EXPECT_EQ(Installation::of(path("build/src/fray")).environment, "");
  EXPECT_EQ(Installation::of(path("build/src/fray")).site_packages, "");
}

TEST_F(InstallationTest, ItsOwnPythonComesBeforeTheActiveOneAndThatBeforeThoseOnThePath) {
  const Installation own = Installation::of(path("own/lib/python3.12/site-packages/fray/_bin/fray"));
  EXPECT_EQ(find_python(own), "");
  const std::string named = program("tools/python3");
  EXPECT_EQ(find_python(own), named);
  const std::string active = program("active/bin/python");
  EXPECT_EQ(find_python(own), named);
  ::setenv("VIRTUAL_ENV", path("active").c_str(), 1);
  EXPECT_EQ(find_python(own), active);
  const std::string beside = program("own/bin/python3");
  EXPECT_EQ(find_python(own), beside);
}

TEST_F(InstallationTest, PackageBesideNoInterpreterGetsOneOfTheVersionThatItWasBuiltFor) {
  const std::string any = program("tools/python3");
  const Installation before = Installation::of(path("target/fray/_bin/fray"));
  EXPECT_EQ(find_python(before), any);
  program("target/fray/_native.cpython-312-x86_64-linux-gnu.so");
  const Installation own = Installation::of(path("target/fray/_bin/fray"));
  EXPECT_EQ(own.python_name, "python3.12");
  EXPECT_EQ(find_python(own), any);  // that version is not there
  const std::string right = program("tools/python3.12");
  EXPECT_EQ(find_python(own), right);
}

TEST_F(InstallationTest, FolderOrFileThatCannotRunIsNoPython) {
  fs::create_directories(path("own/bin/python3"));
  fs::create_directories(path("tools"));
  std::ofstream(path("tools/python3")) << "text";
  EXPECT_EQ(find_python(Installation::of(path("own/bin/fray"))), "");
}

}  // namespace
}  // namespace fray::os
