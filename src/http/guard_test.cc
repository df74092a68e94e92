#include "http/guard.h"

#include <gtest/gtest.h>

namespace fray::http {
namespace {

using Headers = std::map<std::string, std::string, std::less<>>;

unsigned status_for(Headers headers, Access access = Access::kToken, const char* method = "GET",
                    Sessions* sessions = nullptr) {
  Sessions none;
  Request request;
  request.method = method;
  request.headers = std::move(headers);
  auto refused =
      Guard("right-token", 4711, sessions == nullptr ? none : *sessions).refuse(request, [access] { return access; });
  return refused ? refused->status : 200;
}

// The name and value of a cookie of somebody who has logged in.
std::string cookie_of(Sessions& sessions) {
  sessions.set_port(4711);
  const Sessions::Moment now{};
  const std::string set = sessions.log_in(sessions.make_code(false, "", now).value(), now).value().cookie;
  return set.substr(0, set.find(';'));
}

TEST(GuardTest, the_own_page_with_the_token_may_ask) {
  for (const char* host : {"127.0.0.1:4711", "localhost:4711", "[::1]:4711"}) {
    EXPECT_EQ(status_for({{"host", host}, {"authorization", "Bearer right-token"}}), 200u) << host;
  }
  EXPECT_EQ(status_for({{"host", "127.0.0.1:4711"}, {"x-ray-authorization", "Bearer right-token"}}), 200u);
  EXPECT_EQ(status_for({{"host", "localhost:4711"},
                        {"origin", "http://localhost:4711"},
                        {"sec-fetch-site", "same-origin"},
                        {"authorization", "Bearer right-token"}}),
            200u);
}

TEST(GuardTest, a_name_that_was_rebound_is_refused_before_anything_else) {
  for (const char* host : {"", "evil.example:4711", "127.0.0.1", "127.0.0.1:80", "localhost", "127.0.0.1:4711.evil",
                           "localhost:4711@evil"}) {
    EXPECT_EQ(status_for({{"host", host}, {"authorization", "Bearer right-token"}}), 421u) << host;
  }
}

TEST(GuardTest, pages_of_other_sites_are_refused_whatever_they_know) {
  for (const char* origin : {"http://evil.example", "https://127.0.0.1:4711", "http://127.0.0.1:4712", "null"}) {
    EXPECT_EQ(status_for({{"host", "127.0.0.1:4711"}, {"origin", origin}, {"authorization", "Bearer right-token"}}),
              403u)
        << origin;
  }
  for (const char* site : {"cross-site", "same-site"}) {
    EXPECT_EQ(
        status_for({{"host", "127.0.0.1:4711"}, {"sec-fetch-site", site}, {"authorization", "Bearer right-token"}}),
        403u);
  }
}

TEST(GuardTest, without_the_token_nothing_is_answered) {
  EXPECT_EQ(status_for({{"host", "127.0.0.1:4711"}}), 401u);
  for (const char* given : {"Bearer wrong-token", "Bearer right-toke", "Bearer right-token2", "bearer right-token",
                            "Basic right-token", "Bearer ", "right-token"}) {
    EXPECT_EQ(status_for({{"host", "127.0.0.1:4711"}, {"authorization", given}}), 403u) << given;
  }
}

TEST(GuardTest, bodies_are_json) {
  for (const auto& [type, status] : {std::pair{"application/json", 200u},
                                     {"Application/JSON; charset=utf-8", 200u},
                                     {"text/plain", 415u},
                                     {"application/x-www-form-urlencoded", 415u},
                                     {"", 415u}}) {
    EXPECT_EQ(status_for({{"host", "127.0.0.1:4711"},
                          {"authorization", "Bearer right-token"},
                          {"content-length", "2"},
                          {"content-type", type}}),
              status)
        << type;
  }
}

TEST(GuardTest, who_has_logged_in_may_look_and_needs_the_token_for_the_rest) {
  Sessions sessions;
  const Headers own = {{"host", "127.0.0.1:4711"}, {"cookie", "other=1; " + cookie_of(sessions)}};
  EXPECT_EQ(status_for(own, Access::kSession, "GET", &sessions), 200u);
  EXPECT_EQ(status_for(own, Access::kToken, "GET", &sessions), 403u);
  EXPECT_EQ(status_for(own, Access::kToken, "POST", &sessions), 403u);
}

TEST(GuardTest, a_cookie_changes_something_only_for_the_own_page) {
  Sessions sessions;
  Headers headers = {{"host", "127.0.0.1:4711"}, {"cookie", cookie_of(sessions)}};
  EXPECT_EQ(status_for(headers, Access::kSession, "POST", &sessions), 403u) << "browsers send an Origin with a POST";
  headers["origin"] = "http://127.0.0.1:4711";
  EXPECT_EQ(status_for(headers, Access::kSession, "POST", &sessions), 200u);
  headers["origin"] = "http://127.0.0.1:8888";
  EXPECT_EQ(status_for(headers, Access::kSession, "POST", &sessions), 403u);
  headers.erase("origin");
  headers["sec-fetch-site"] = "same-site";  // a page of another port
  EXPECT_EQ(status_for(headers, Access::kSession, "GET", &sessions), 403u);
}

TEST(GuardTest, a_cookie_of_another_node_is_told_from_none_and_opens_nothing) {
  Sessions sessions;
  Sessions another;
  const Headers old = {{"host", "127.0.0.1:4711"}, {"cookie", cookie_of(another)}};
  sessions.set_port(4711);
  EXPECT_EQ(status_for(old, Access::kSession, "GET", &sessions), 401u);
  Request request;
  request.method = "GET";
  request.headers = old;
  const auto refused = Guard("t", 4711, sessions).refuse(request, [] { return Access::kSession; });
  EXPECT_NE(refused->body.find("login over"), std::string::npos);
  EXPECT_EQ(refused->body.find("no token"), std::string::npos);
}

TEST(GuardTest, what_anybody_may_see_can_be_linked_to_and_not_be_fetched_by_other_pages) {
  EXPECT_EQ(status_for({{"host", "127.0.0.1:4711"}}, Access::kAnybody), 200u);
  EXPECT_EQ(status_for({{"host", "127.0.0.1:4711"}, {"sec-fetch-site", "cross-site"}, {"sec-fetch-mode", "navigate"}},
                       Access::kAnybody),
            200u);
  EXPECT_EQ(status_for({{"host", "127.0.0.1:4711"}, {"sec-fetch-site", "cross-site"}, {"sec-fetch-mode", "no-cors"}},
                       Access::kAnybody),
            403u);
  EXPECT_EQ(status_for({{"host", "127.0.0.1:4711"}, {"sec-fetch-site", "cross-site"}, {"sec-fetch-mode", "navigate"}},
                       Access::kSession),
            403u);
  EXPECT_EQ(status_for({{"host", "evil.example:4711"}}, Access::kAnybody), 421u);
  EXPECT_EQ(status_for({{"host", "127.0.0.1:4711"}, {"authorization", "Bearer wrong"}}, Access::kAnybody), 403u);
}

}  // namespace
}  // namespace fray::http
