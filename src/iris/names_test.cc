#include "iris/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fray::iris {
namespace {

using testing::HasSubstr;

TEST(IrisNamesTest, ids_are_made_of_users_parents_and_names) {
  EXPECT_EQ(job_id("bob", "", "train").value(), "/bob/train");
  EXPECT_EQ(job_id("bob", "/bob/train", "eval").value(), "/bob/train/eval");
  EXPECT_EQ(job_id("bob", "", "2026").value(), "/bob/2026");
  EXPECT_EQ(resolve_id("bob", "train").value(), "/bob/train");
  EXPECT_EQ(resolve_id("bob", "/ann/train/eval").value(), "/ann/train/eval");
}

TEST(IrisNamesTest, names_that_controllers_misread_are_refused_with_the_reason) {
  struct Row {
    const char* parent;
    std::string name;
    const char* words;
  };
  for (const Row& row :
       {Row{"", "", "empty"}, Row{"", "  ", "empty"}, Row{"", "a/b", "slash"}, Row{"", "a\nb", "control"},
        Row{"", std::string(201, 'x'), "longer"}, Row{"/bob/train", "7", "digits"}, Row{"/bob", "a", "/USER/JOB"},
        Row{"/bob/train/0", "a", "names a task"}}) {
    auto id = job_id("bob", row.parent, row.name);
    ASSERT_FALSE(id.is_ok()) << row.name;
    EXPECT_EQ(id.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(id.status().message(), HasSubstr(row.words));
  }
}

TEST(IrisNamesTest, texts_that_are_no_ids_are_refused) {
  for (const char* text : {"", "/", "//", "/bob", "/bob/", "/bob//x", "/bob/train/0", "/bob/ /x"}) {
    EXPECT_EQ(resolve_id("bob", text).status().code(), StatusCode::kInvalidArgument) << text;
  }
}

TEST(IrisNamesTest, keys_of_attempts_are_taken_apart) {
  auto name = parse_attempt("/bob/train/12:3");
  ASSERT_TRUE(name.has_value());
  EXPECT_EQ(name->job, "/bob/train");
  EXPECT_EQ(name->task, 12);
  EXPECT_EQ(name->attempt, 3);
  EXPECT_EQ(parse_attempt("/bob/a:b/0:0")->job, "/bob/a:b");
  for (const char* key : {"", "/system/worker/w", "/bob/train/0", "/bob/train/x:0", "/bob/train/0:", "/0:0", ":"}) {
    EXPECT_FALSE(parse_attempt(key).has_value()) << key;
  }
}

}  // namespace
}  // namespace fray::iris
