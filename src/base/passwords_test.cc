#include "base/passwords.h"

#include <gtest/gtest.h>

namespace fray {
namespace {

TEST(Passwords, OfAddressesAreNotShown) {
  EXPECT_EQ(without_passwords("at https://me:hunter2@index.example/simple: 401"),
            "at https://...@index.example/simple: 401");
  EXPECT_EQ(without_passwords("git+ssh://token@host/a http://a/b@c"), "git+ssh://...@host/a http://a/b@c");
  EXPECT_EQ(without_passwords("https://me:p@ss,w?o#r&d'@host"), "https://...@host");
  EXPECT_EQ(without_passwords("http://a:1@b/ http://c:2@d"), "http://...@b/ http://...@d");
}

TEST(Passwords, OfPercentEncodedAddressesAreNotShown) {
  EXPECT_EQ(without_passwords("ray?address=http%3A%2F%2Fbob%3Apw%40h"), "ray?address=http%3A%2F%2F...%40h");
  EXPECT_EQ(without_passwords("ray?address=http%3a%2f%2fbob:pw@h&a=b"), "ray?address=http%3a%2f%2f...@h&a=b");
}

TEST(Passwords, TextsWithoutThemStayAsTheyAre) {
  for (const char* text : {"a@b https://x y@z", "://", "//", "%2F%2F", "", "iris?url=http://h:1", "a%40b"}) {
    EXPECT_EQ(without_passwords(text), text);
  }
}

}  // namespace
}  // namespace fray
