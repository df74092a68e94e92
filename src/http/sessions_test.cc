#include "http/sessions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fray::http {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr Sessions::Moment kStart{};

std::string pair_of(const std::string& set_cookie) { return set_cookie.substr(0, set_cookie.find(';')); }

TEST(SessionsTest, a_link_logs_in_once) {
  Sessions sessions;
  sessions.set_port(40113);
  const std::string code = sessions.make_code(false, "", kStart).value();
  const std::string cookie = sessions.log_in(code, kStart).value().cookie;
  EXPECT_THAT(cookie, StartsWith("fray_40113="));
  for (const char* word : {"; HttpOnly", "; SameSite=Strict", "; Path=/"}) EXPECT_THAT(cookie, HasSubstr(word));
  EXPECT_NE(sessions.visit(pair_of(cookie)).session, nullptr);
  auto again = sessions.log_in(code, kStart);
  EXPECT_EQ(again.status().code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(again.status().message(), HasSubstr("used already"));
}

TEST(SessionsTest, an_old_link_and_an_invented_one_log_nobody_in) {
  Sessions sessions;
  const std::string code = sessions.make_code(false, "", kStart).value();
  EXPECT_FALSE(sessions.log_in("", kStart).is_ok());
  EXPECT_FALSE(sessions.log_in(code.substr(1), kStart).is_ok());
  EXPECT_FALSE(sessions.log_in(code, kStart + Sessions::kCodeLimit + std::chrono::seconds(1)).is_ok());
}

TEST(SessionsTest, a_cookie_is_found_among_others_and_those_of_other_nodes_are_not_its) {
  Sessions sessions;
  sessions.set_port(1);
  Sessions another;
  another.set_port(2);
  const std::string own = pair_of(sessions.log_in(sessions.make_code(true, "", kStart).value(), kStart).value().cookie);
  const std::string foreign =
      pair_of(another.log_in(another.make_code(false, "", kStart).value(), kStart).value().cookie);
  const Sessions::Visit both = sessions.visit("_xsrf=2|a; " + foreign + "; " + own);
  ASSERT_NE(both.session, nullptr);
  EXPECT_TRUE(both.session->framed);
  EXPECT_FALSE(sessions.visit(foreign).has_cookie);
  EXPECT_EQ(sessions.visit(foreign).session, nullptr);
  const Sessions::Visit invented = sessions.visit("fray_1=; fray_1=" + std::string(64, '0'));
  EXPECT_TRUE(invented.has_cookie);
  EXPECT_EQ(invented.session, nullptr);
  for (const char* odd : {"", ";", "; ;;", "=", "fray_1", "fray_1;fray_1"}) {
    EXPECT_EQ(sessions.visit(odd).session, nullptr) << odd;
  }
}

TEST(SessionsTest, the_oldest_goes_when_there_are_too_many) {
  Sessions sessions;
  const std::string first_code = sessions.make_code(false, "", kStart).value();
  for (std::size_t i = 0; i < Sessions::kMostCodes; ++i) ASSERT_TRUE(sessions.make_code(false, "", kStart).is_ok());
  EXPECT_FALSE(sessions.log_in(first_code, kStart).is_ok());
  const auto log_in = [&] {
    return pair_of(sessions.log_in(sessions.make_code(false, "", kStart).value(), kStart).value().cookie);
  };
  const std::string first = log_in();
  for (std::size_t i = 1; i < Sessions::kMostSessions; ++i) log_in();
  EXPECT_NE(sessions.visit(first).session, nullptr);
  log_in();
  EXPECT_EQ(sessions.visit(first).session, nullptr);
}

}  // namespace
}  // namespace fray::http
