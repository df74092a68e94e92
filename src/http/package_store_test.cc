#include "http/package_store.h"

#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fray::http {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class PackageStoreTest : public testing::Test {
 protected:
  ~PackageStoreTest() override { fs::remove_all(folder_); }

  Status put(const std::string& name, std::initializer_list<std::string_view> parts) {
    auto draft = store_.begin("gcs", name);
    if (!draft.is_ok()) return draft.status();
    for (std::string_view part : parts) EXPECT_TRUE((*draft)->write(part).is_ok());
    return (*draft)->finish();
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  static std::string fresh_folder() {
    std::string folder = testing::TempDir() + "/packages_XXXXXX";
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
    return folder;
  }

  const std::string folder_ = fresh_folder();
  PackageStore store_{folder_};
};

TEST_F(PackageStoreTest, PackageIsThereOnceItIsWhole) {
  const std::string name = "_ray_pkg_0123456789abcdef.zip";
  {
    auto draft = store_.begin("gcs", name);
    ASSERT_TRUE(draft.is_ok() && (*draft)->write("half").is_ok());
    EXPECT_FALSE(store_.has("gcs", name));
  }
  EXPECT_EQ(files(), 0u) << "a draft that was given up leaves nothing";
  ASSERT_TRUE(put(name, {"wh", "ole"}).is_ok());
  EXPECT_TRUE(store_.has("gcs", name));
  EXPECT_EQ(store_.path_of("gcs://" + name).value(), folder_ + "/" + name);
  EXPECT_EQ(files(), 1u);
}

TEST_F(PackageStoreTest, FirstUploadOfANameStays) {
  ASSERT_TRUE(put("_ray_pkg_0123456789abcdef.zip", {"first"}).is_ok());
  ASSERT_TRUE(put("_ray_pkg_0123456789abcdef.zip", {"second"}).is_ok());
  EXPECT_EQ(fs::file_size(folder_ + "/_ray_pkg_0123456789abcdef.zip"), 5u);
}

TEST_F(PackageStoreTest, SumInANameIsCheckedAgainstTheBytes) {
  const std::string sha1 = "_ray_pkg_a9993e364706816aba3e25717850c26c9cd0d89d.zip";
  const std::string sha256 = "_ray_pkg_ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad.tar.gz";
  for (const std::string& name : {sha1, sha256}) {
    Status refused = put(name, {"abd"});
    EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
    EXPECT_FALSE(store_.has("gcs", name));
    EXPECT_TRUE(put(name, {"a", "bc"}).is_ok());
    EXPECT_TRUE(store_.has("gcs", name));
  }
  EXPECT_EQ(files(), 2u);
}

TEST_F(PackageStoreTest, NamesThatAreNoneAreRefused) {
  for (const char* name : {"../a.zip", "a/b.zip", ".zip", "a.exe", "a b.zip", ""}) {
    EXPECT_EQ(store_.begin("gcs", name).status().code(), StatusCode::kInvalidArgument) << name;
    EXPECT_FALSE(store_.has("gcs", name));
  }
  EXPECT_THAT(store_.begin("s3", "a.zip").status().message(), HasSubstr("the protocol gcs"));
  EXPECT_EQ(store_.path_of("gcs://a.zip").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(store_.path_of("s3://bucket/a.zip").status().code(), StatusCode::kInvalidArgument);
}

TEST_F(PackageStoreTest, PackagesThatNobodyUsedForAWeekAreRemoved) {
  ASSERT_TRUE(put("old.zip", {"1"}).is_ok());
  ASSERT_TRUE(put("asked.zip", {"2"}).is_ok());
  for (const char* name : {"/old.zip", "/asked.zip"}) {
    fs::last_write_time(folder_ + name, fs::file_time_type::clock::now() - std::chrono::hours(8 * 24));
  }
  EXPECT_TRUE(store_.has("gcs", "asked.zip"));
  ASSERT_TRUE(put("new.zip", {"3"}).is_ok());
  EXPECT_FALSE(store_.has("gcs", "old.zip"));
  EXPECT_TRUE(store_.has("gcs", "asked.zip"));
}

}  // namespace
}  // namespace fray::http
