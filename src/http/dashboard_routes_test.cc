#include "http/dashboard_routes.h"

#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/http_test_world.h"

namespace fray::http {
namespace {

using testing::HasSubstr;
using testing::Not;

class DashboardRoutesTest : public testing::Test {
 protected:
  // The answer to somebody who sends this cookie, and no token.
  std::string visit(const std::string& line, const std::string& cookie = "", const std::string& more = "") {
    return world_.ask(line,
                      "Host: " + world_.host() + "\r\n" + more + (cookie.empty() ? "" : "Cookie: " + cookie + "\r\n"));
  }
  std::string link(const nlohmann::json& body = nlohmann::json::object()) {
    const std::string url = world_.json("POST /api/v1/dashboard/login-links", body)["url"];
    return url.substr(url.find("/dashboard/"));
  }
  static std::string cookie_in(const std::string& answer) {
    const std::size_t begin = answer.find("Set-Cookie: ") + 12;
    return answer.substr(begin, answer.find(';', begin) - begin);
  }
  std::string log_in() { return cookie_in(visit("GET " + link())); }

  HttpWorld world_;
};

TEST_F(DashboardRoutesTest, a_link_leads_to_the_page_logged_in_and_works_once) {
  const std::string path = link();
  const std::string answer = visit("GET " + path);
  EXPECT_EQ(HttpWorld::status_of(answer), 303);
  EXPECT_THAT(answer, HasSubstr("Location: /dashboard/\r\n"));
  EXPECT_THAT(answer, HasSubstr("HttpOnly"));
  EXPECT_THAT(answer, HasSubstr("SameSite=Strict"));
  const std::string cookie = cookie_in(answer);
  EXPECT_THAT(visit("GET /api/v1/dashboard/session", cookie), HasSubstr("0badcafe"));
  EXPECT_EQ(HttpWorld::status_of(visit("GET /api/v1/dashboard/session")), 401);
  const std::string again = visit("GET " + path);
  EXPECT_EQ(HttpWorld::status_of(again), 403);
  EXPECT_THAT(again, HasSubstr("fray dashboard"));
  EXPECT_THAT(again, Not(HasSubstr("Set-Cookie")));
}

TEST_F(DashboardRoutesTest, links_are_made_for_the_token_alone) {
  const std::string cookie = log_in();
  const std::string origin = "Origin: http://" + world_.host() + "\r\n";
  EXPECT_EQ(HttpWorld::status_of(visit("POST /api/v1/dashboard/login-links", cookie, origin)), 403);
  EXPECT_EQ(HttpWorld::status_of(world_.ask("POST /api/v1/dashboard/login-links", nlohmann::json{{"framed", 1}})), 400);
  EXPECT_EQ(HttpWorld::status_of(world_.ask("POST /api/v1/dashboard/login-links", nlohmann::json{{"frame", true}})),
            400);
}

TEST_F(DashboardRoutesTest, who_has_logged_in_looks_and_stops_jobs_and_starts_none) {
  const std::string cookie = log_in();
  const std::string origin = "Origin: http://" + world_.host() + "\r\n";
  world_.node->jobs["a"].spec.id = "a";
  EXPECT_EQ(HttpWorld::status_of(visit("GET /api/v1/jobs", cookie)), 200);
  EXPECT_EQ(HttpWorld::status_of(visit("GET /api/v1/status", cookie)), 200);
  EXPECT_EQ(HttpWorld::status_of(visit("POST /api/v1/jobs/a/stop", cookie)), 403) << "without an Origin";
  EXPECT_EQ(HttpWorld::status_of(visit("POST /api/v1/jobs/a/stop", cookie, origin)), 200);
  for (const char* line : {"POST /api/v1/jobs", "DELETE /api/v1/jobs/a", "POST /api/jobs/", "GET /api/jobs/",
                           "PUT /api/v1/queues/q", "PUT /api/packages/gcs/a.zip"}) {
    const std::string refused = visit(line, cookie, origin);
    EXPECT_EQ(HttpWorld::status_of(refused), 403) << line;
    EXPECT_THAT(refused, HasSubstr("needs the token")) << line;
  }
}

TEST_F(DashboardRoutesTest, a_page_that_was_not_built_is_told_in_a_sentence) {
  for (const char* path : {"/dashboard/", "/dashboard", "/dashboard/jobs/a%20b?replica=1"}) {
    const std::string answer = visit(std::string("GET ") + path);
    EXPECT_EQ(HttpWorld::status_of(answer), 404) << path;
    EXPECT_THAT(answer, HasSubstr("make dashboard")) << path;
    EXPECT_THAT(answer, HasSubstr("default-src 'none'")) << path;
  }
  EXPECT_EQ(HttpWorld::status_of(visit("GET /")), 303);
}

TEST_F(DashboardRoutesTest, lists_are_asked_for_with_order_and_bounds) {
  const nlohmann::json usual = world_.json("GET /api/v1/dashboard/functions");
  EXPECT_EQ(usual["limit"], 200);
  EXPECT_EQ(usual["descending"], true);
  const nlohmann::json asked =
      world_.json("GET /api/v1/dashboard/actors?sort=name&order=asc&limit=5&after=10&search=a%26b");
  EXPECT_EQ(asked,
            (nlohmann::json{{"sort", "name"}, {"descending", false}, {"limit", 5}, {"after", 10}, {"search", "a&b"}}));
  for (const char* wrong : {"limit=1001", "limit=-1", "limit=x", "after=", "order=up", "limit=99999999999999999999"}) {
    EXPECT_EQ(HttpWorld::status_of(world_.ask(std::string("GET /api/v1/dashboard/workers?") + wrong)), 400) << wrong;
  }
  EXPECT_EQ(HttpWorld::status_of(world_.ask("GET /api/v1/dashboard/tasks?limit=20001")), 400);
  EXPECT_EQ(HttpWorld::status_of(world_.ask("GET /api/v1/dashboard/tasks/1-41")), 404);
  EXPECT_EQ(world_.json("GET /api/v1/dashboard/tasks/1-42")["task"], "1-42");
  EXPECT_EQ(world_.json("GET /api/v1/dashboard/now?history=60")["history"]["seconds"], 60.0);
}

TEST_F(DashboardRoutesTest, a_page_follows_what_changes_and_is_told_each_name_once) {
  os::Fd page = world_.connect();
  HttpWorld::send(page, "GET /api/v1/dashboard/live?topics=tasks,log HTTP/1.1\r\n" + world_.headers() + "\r\n");
  std::string told =
      world_.read(page, [](const std::string& text) { return text.find("event: log") != std::string::npos; });
  EXPECT_THAT(told, HasSubstr("event: hello\ndata: {\"node\":\"0badcafe\"}\n\nid: 2\nevent: tasks\n"));
  EXPECT_THAT(told, HasSubstr("<b>step</b>\uFFFD"));
  EXPECT_THAT(told, HasSubstr("so many: 200"));
  EXPECT_THAT(told, Not(HasSubstr("event: now")));
  world_.node->shown.ended = 3;
  world_.node->shown.tick();
  told = world_.read(page, [](const std::string& text) { return text.find("at 11") != std::string::npos; });
  EXPECT_THAT(told, HasSubstr("id: 3\nevent: tasks\n"));
  EXPECT_THAT(told, HasSubstr("\"functions\":[]"));
  EXPECT_EQ(world_.node->shown.looks.size(), 1u);
  page.reset();
  world_.loop->run_once(std::chrono::milliseconds(100));
  EXPECT_TRUE(world_.node->shown.looks.empty()) << "nobody looks any more";
}

TEST_F(DashboardRoutesTest, a_page_that_was_cut_off_goes_on_where_it_was) {
  os::Fd page = world_.connect();
  world_.node->shown.ended = 9;
  HttpWorld::send(
      page, "GET /api/v1/dashboard/live?topics=tasks HTTP/1.1\r\n" + world_.headers() + "Last-Event-ID: 8\r\n\r\n");
  const std::string told =
      world_.read(page, [](const std::string& text) { return text.find("event: tasks") != std::string::npos; });
  EXPECT_THAT(told, HasSubstr("\"rows\":[[7]]"));
}

TEST_F(DashboardRoutesTest, the_stack_of_a_process_that_is_none_is_not_found) {
  EXPECT_EQ(world_.json("GET /api/v1/dashboard/workers/4711/stack")["pid"], 4711);
  for (const char* pid : {"1", "4711x", "x", "-1", "99999999999999999999", "%00"}) {
    const int status = HttpWorld::status_of(world_.ask(fmt::format("GET /api/v1/dashboard/workers/{}/stack", pid)));
    EXPECT_TRUE(status == 404 || (status == 400 && std::string_view(pid) == "%00")) << pid << " " << status;
  }
}

TEST_F(DashboardRoutesTest, a_process_is_watched_for_some_seconds_and_not_for_ever) {
  EXPECT_EQ(world_.json("GET /api/v1/dashboard/workers/4711/flame")["seconds"], 5);
  EXPECT_EQ(world_.json("GET /api/v1/dashboard/workers/4711/flame?seconds=60")["seconds"], 60);
  for (const char* seconds : {"0", "61", "x", "", "-1"}) {
    EXPECT_EQ(
        HttpWorld::status_of(world_.ask(fmt::format("GET /api/v1/dashboard/workers/4711/flame?seconds={}", seconds))),
        400)
        << seconds;
  }
  EXPECT_EQ(HttpWorld::status_of(world_.ask("GET /api/v1/dashboard/workers/1/flame")), 404);
}

TEST_F(DashboardRoutesTest, a_link_leads_to_the_view_that_it_was_made_for) {
  const std::string answer = visit("GET " + link({{"view", "jobs/a%20b?cluster=ray-10.0.0.5%3A8265"}}));
  EXPECT_THAT(answer, HasSubstr("Location: /dashboard/jobs/a%20b?cluster=ray-10.0.0.5%3A8265\r\n"));
  for (const char* view : {"/elsewhere", "//elsewhere", "../api", "a\r\nSet-Cookie: b", "jobs\\", "\"><script>"}) {
    EXPECT_EQ(HttpWorld::status_of(world_.ask("POST /api/v1/dashboard/login-links", nlohmann::json{{"view", view}})),
              400)
        << view;
  }
}

TEST_F(DashboardRoutesTest, a_page_that_does_not_read_is_not_told_more) {
  os::Fd page = world_.connect();
  HttpWorld::send(page, "GET /api/v1/dashboard/live?topics=now HTTP/1.1\r\n" + world_.headers() + "\r\n");
  world_.read(page, [](const std::string& text) { return text.find("event: now") != std::string::npos; });
  for (int i = 0; i < 1'000'000; ++i) world_.node->shown.tick();
  std::size_t bytes = 0;
  world_.read(page, [&](const std::string& text) {
    const bool is_all = text.size() == bytes;
    bytes = text.size();
    return is_all && bytes > 0;
  });
  EXPECT_LT(bytes, 10'000'000u) << "of 30 MB that would have been made, what the kernel takes";
}

TEST_F(DashboardRoutesTest, topics_that_are_none_and_too_many_pages_are_refused) {
  EXPECT_EQ(HttpWorld::status_of(world_.ask("GET /api/v1/dashboard/live?topics=now,all")), 400);
  std::vector<os::Fd> pages;
  for (std::size_t i = 0; i < kMostLiveStreams; ++i) {
    pages.push_back(world_.connect());
    HttpWorld::send(pages.back(), "GET /api/v1/dashboard/live HTTP/1.1\r\n" + world_.headers() + "\r\n");
    world_.read(pages.back(), [](const std::string& text) { return text.find("event: now") != std::string::npos; });
  }
  EXPECT_EQ(HttpWorld::status_of(world_.ask("GET /api/v1/dashboard/live")), 503);
  pages.pop_back();
  world_.loop->run_once(std::chrono::milliseconds(100));
  os::Fd page = world_.connect();
  HttpWorld::send(page, "GET /api/v1/dashboard/live HTTP/1.1\r\n" + world_.headers() + "\r\n");
  EXPECT_THAT(world_.read(page, [](const std::string& text) { return text.find("hello") != std::string::npos; }),
              HasSubstr("200 OK"));
}

class PageFilesTest : public testing::Test {
 protected:
  PageFilesTest() {
    std::filesystem::create_directories(folder_ + "/assets");
    write("index.html", "<!doctype html>page");
    write("assets/app-1.js", "plain");
    write("assets/app-1.js.gz", "packed");
    write("assets/secret", "no type");
  }
  ~PageFilesTest() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const char* text) { std::ofstream(folder_ + "/" + name) << text; }
  Response asset(const std::string& target, const std::string& encodings = "") {
    Request request;
    EXPECT_TRUE(parse_target(target, &request)) << target;
    request.headers["accept-encoding"] = encodings;
    return files_.asset(request);
  }

  const std::string folder_ = testing::TempDir() + "/page_" + std::to_string(::getpid());
  PageFiles files_{folder_};
};

TEST_F(PageFilesTest, the_page_has_a_strict_policy_and_is_not_kept) {
  const Response page = files_.page(false);
  EXPECT_EQ(page.body, "<!doctype html>page");
  const std::string policy = page.headers.at("Content-Security-Policy");
  EXPECT_THAT(policy, HasSubstr("default-src 'none'; script-src 'self'; style-src 'self';"));
  EXPECT_THAT(policy, HasSubstr("frame-ancestors 'none'"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  EXPECT_THAT(response_head(page, true, true), HasSubstr("Cache-Control: no-store\r\n"));
  EXPECT_THAT(files_.page(true).headers.at("Content-Security-Policy"),
              HasSubstr("frame-ancestors http://127.0.0.1:* http://localhost:*"));
}

TEST_F(PageFilesTest, assets_are_kept_for_ever_and_come_packed_to_those_who_take_it) {
  const Response plain = asset("/dashboard/assets/app-1.js");
  EXPECT_EQ(plain.body, "plain");
  EXPECT_EQ(plain.content_type, "text/javascript; charset=utf-8");
  EXPECT_THAT(response_head(plain, true, true), HasSubstr("immutable"));
  EXPECT_THAT(response_head(plain, true, true), Not(HasSubstr("no-store")));
  const Response packed = asset("/dashboard/assets/app-1.js", "br, gzip");
  EXPECT_EQ(packed.body, "packed");
  EXPECT_EQ(packed.headers.at("Content-Encoding"), "gzip");
}

TEST_F(PageFilesTest, nothing_else_is_served) {
  for (const char* target : {"/dashboard/assets/secret", "/dashboard/assets/none.js", "/dashboard/assets/app-1.js.gz",
                             "/dashboard/assets", "/dashboard/assets/a/app-1.js", "/dashboard/assets/%2e.js"}) {
    EXPECT_EQ(asset(target).status, 404u) << target;
  }
}

}  // namespace
}  // namespace fray::http
