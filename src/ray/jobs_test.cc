#include "ray/jobs.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http_client/scripted_server.h"

namespace fray::ray {
namespace {

using http_client::ScriptedServer;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using Visit = ScriptedServer::Visit;

constexpr const char* kVersion = R"({"version":"4","ray_version":"2.60.0","ray_commit":"c","session_name":"s"})";

std::string job_json(const std::string& id, const std::string& status, const std::string& mark = "") {
  return json({{"type", "SUBMISSION"},
               {"submission_id", id},
               {"status", status},
               {"entrypoint", "true"},
               {"metadata", {{kSubmissionKey, mark}}}})
      .dump();
}

// A cluster that keeps its jobs, and lets the test spoil what it answers.
class Cluster {
 public:
  using Spoil = std::function<bool(Visit&)>;

  explicit Cluster(Spoil spoil = {}) : spoil_(std::move(spoil)), server_([this](Visit& visit) { serve(visit); }) {}

  Jobs jobs() { return Jobs(server_.endpoint()); }
  ScriptedServer& server() { return server_; }
  int taken() const { return taken_; }

  // Takes the job of a POST as Ray does.
  bool take(const Visit& visit) {
    const json body = json::parse(visit.body);
    const std::string id = body["submission_id"];
    if (jobs_.contains(id)) return false;
    jobs_[id] = job_json(id, "RUNNING", body["metadata"].value(kSubmissionKey, ""));
    ++taken_;
    return true;
  }

 private:
  void serve(Visit& visit) {
    if (spoil_ && spoil_(visit)) return;
    if (visit.line == "GET /api/version") return visit.answer(200, kVersion);
    if (visit.line == "POST /api/jobs/") {
      if (take(visit)) return visit.answer(200, R"({"submission_id":"x","job_id":"x"})");
      return visit.answer(500, "Traceback\nValueError: Job with submission_id x already exists");
    }
    const std::string id = visit.line.substr(visit.line.rfind('/') + 1);
    if (jobs_.contains(id)) return visit.answer(200, jobs_[id]);
    visit.answer(404, "Job " + id + " does not exist");
  }

  Spoil spoil_;
  std::map<std::string, std::string> jobs_;
  std::atomic<int> taken_ = 0;
  ScriptedServer server_;
};

TEST(JobsTest, a_job_is_submitted_with_what_was_asked_for_and_nothing_else) {
  json sent;
  Cluster cluster([&](Visit& visit) {
    if (visit.line == "POST /api/jobs/") sent = json::parse(visit.body);
    return false;
  });
  JobRequest request;
  request.entrypoint = "python 'a b.py'";
  request.runtime_env = {{"env_vars", {{"A", "1"}}}};
  request.metadata = {{"owner", "me"}};
  request.cpus = 0.5;
  auto id = cluster.jobs().submit(request);
  ASSERT_TRUE(id.is_ok()) << id.status().message();
  EXPECT_EQ(id->size(), std::string("raysubmit_").size() + 16);
  EXPECT_EQ(sent["submission_id"], *id);
  EXPECT_EQ(sent["entrypoint"], request.entrypoint);
  EXPECT_EQ(sent["runtime_env"], request.runtime_env);
  EXPECT_EQ(sent["metadata"]["owner"], "me");
  EXPECT_EQ(sent["entrypoint_num_cpus"], 0.5);
  EXPECT_FALSE(sent.contains("entrypoint_memory"));
  EXPECT_EQ(cluster.jobs().get(*id)->status, JobStatus::kRunning);
}

TEST(JobsTest, an_answer_that_is_lost_does_not_submit_twice) {
  Cluster* self = nullptr;
  bool spoilt = false;
  Cluster cluster([&](Visit& visit) {
    if (visit.line != "POST /api/jobs/" || std::exchange(spoilt, true)) return false;
    self->take(visit);
    visit.close();  // taken, and the answer never sent
    return true;
  });
  self = &cluster;
  auto id = cluster.jobs().submit({.entrypoint = "true"});
  ASSERT_TRUE(id.is_ok()) << id.status().message();
  EXPECT_EQ(cluster.taken(), 1);
  EXPECT_THAT(cluster.server().requests(), ElementsAre("GET /api/version", "POST /api/jobs/", "GET /api/jobs/" + *id));
}

TEST(JobsTest, a_request_that_was_lost_is_sent_again) {
  bool spoilt = false;
  Cluster cluster([&](Visit& visit) {
    if (visit.line != "POST /api/jobs/" || std::exchange(spoilt, true)) return false;
    visit.close();  // not taken
    return true;
  });
  ASSERT_TRUE(cluster.jobs().submit({.entrypoint = "true"}).is_ok());
  EXPECT_EQ(cluster.taken(), 1);
}

TEST(JobsTest, an_agent_that_is_not_up_yet_is_waited_for) {
  int refusals = 2;
  Cluster cluster([&](Visit& visit) {
    if (visit.line != "POST /api/jobs/" || refusals-- <= 0) return false;
    visit.answer(500, "Exception: No available agent to submit job, please try again later.");
    return true;
  });
  ASSERT_TRUE(cluster.jobs().submit({.entrypoint = "true"}).is_ok());
  EXPECT_EQ(cluster.taken(), 1);
}

TEST(JobsTest, an_id_that_somebody_else_has_taken_is_refused) {
  Cluster cluster;
  ASSERT_TRUE(cluster.jobs().submit({.entrypoint = "true", .submission_id = "mine"}).is_ok());
  auto again = cluster.jobs().submit({.entrypoint = "true", .submission_id = "mine"});
  EXPECT_EQ(again.status().code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(cluster.taken(), 1);
}

TEST(JobsTest, a_lost_answer_for_somebody_elses_id_is_no_success) {
  bool spoilt = false;
  Cluster cluster([&](Visit& visit) {
    if (visit.line != "POST /api/jobs/" || visit.body.find("\"second\"") == std::string::npos) return false;
    if (std::exchange(spoilt, true)) return false;
    visit.close();
    return true;
  });
  ASSERT_TRUE(cluster.jobs().submit({.entrypoint = "true", .submission_id = "mine"}).is_ok());
  auto second = cluster.jobs().submit({.entrypoint = "true", .submission_id = "mine", .metadata = {{"a", "second"}}});
  EXPECT_EQ(second.status().code(), StatusCode::kAlreadyExists) << second.status().message();
}

TEST(JobsTest, bad_requests_never_leave_this_machine) {
  Cluster cluster;
  const Jobs jobs = cluster.jobs();
  EXPECT_EQ(jobs.submit({.entrypoint = "  "}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(jobs.submit({.entrypoint = "true", .submission_id = "a b"}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(jobs.submit({.entrypoint = "true", .cpus = -1}).status().code(), StatusCode::kInvalidArgument);
  auto unknown = jobs.submit({.entrypoint = "true", .runtime_env = {{"working_directory", "."}}});
  EXPECT_THAT(unknown.status().message(), HasSubstr("working_dir, py_modules"));
  auto secret = jobs.submit({.entrypoint = "true", .runtime_env = {{"env_vars", {{"KEY", 4711}}}}});
  EXPECT_THAT(secret.status().message(), HasSubstr("KEY"));
  EXPECT_THAT(secret.status().message(), testing::Not(HasSubstr("4711")));
  EXPECT_EQ(jobs.get("").status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(cluster.server().requests(), ElementsAre());
}

TEST(JobsTest, a_cluster_that_is_too_old_is_told_by_its_version) {
  ScriptedServer server([](Visit& visit) { visit.answer(200, R"({"ray_version":"2.3.1"})"); });
  auto refused = Jobs(server.endpoint()).submit({.entrypoint = "true"});
  EXPECT_EQ(refused.status().code(), StatusCode::kVersionMismatch);
  EXPECT_THAT(refused.status().message(), HasSubstr("Ray 2.3.1 runs at"));
}

TEST(JobsTest, the_token_travels_and_its_lack_is_told) {
  ScriptedServer server([](Visit& visit) {
    if (visit.head.find("\r\nAuthorization: Bearer right\r\n") != std::string::npos) return visit.answer(200, "[]");
    const bool given = visit.head.find("Authorization") != std::string::npos;
    visit.answer(given ? 403 : 401, given ? "Forbidden" : "Unauthorized");
  });
  Endpoint endpoint = server.endpoint();
  EXPECT_THAT(Jobs(endpoint).list().status().message(), HasSubstr("asks for a token and none was given"));
  endpoint.token = {"wrong", "the test"};
  EXPECT_THAT(Jobs(endpoint).list().status().message(), HasSubstr("does not take the token from the test"));
  endpoint.token.value = "right";
  EXPECT_TRUE(Jobs(endpoint).list().is_ok());
  endpoint.token.value = "right\r\nX-Other: 1";
  EXPECT_EQ(Jobs(endpoint).list().status().code(), StatusCode::kInvalidArgument);
}

TEST(JobsTest, an_address_where_nobody_listens_is_refused_at_once) {
  Endpoint endpoint;
  {
    ScriptedServer server([](Visit&) {});
    endpoint = server.endpoint();
  }
  auto refused = Jobs(endpoint).submit({.entrypoint = "true"});
  EXPECT_EQ(refused.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(refused.status().message(), HasSubstr("the connection was refused"));
}

TEST(JobsTest, a_server_that_hangs_is_given_up) {
  ScriptedServer server([](Visit& visit) { visit.hang(); });
  Endpoint endpoint = server.endpoint();
  endpoint.answer_limit = std::chrono::milliseconds(50);
  EXPECT_EQ(Jobs(endpoint).list().status().code(), StatusCode::kTimedOut);
}

TEST(JobsTest, a_server_that_sends_a_byte_at_a_time_is_given_up) {
  ScriptedServer server([](Visit& visit) {
    visit.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n");
    visit.send("[");
    visit.hang();
  });
  Endpoint endpoint = server.endpoint();
  endpoint.answer_limit = std::chrono::milliseconds(50);
  EXPECT_EQ(Jobs(endpoint).list().status().code(), StatusCode::kTimedOut);
}

TEST(JobsTest, a_wait_can_be_interrupted) {
  ScriptedServer server([](Visit& visit) { visit.hang(); });
  Endpoint endpoint = server.endpoint();
  int asked = 0;
  endpoint.interrupted = [&] { return ++asked > 2; };
  EXPECT_EQ(Jobs(endpoint).list().status().code(), StatusCode::kCancelled);
}

TEST(JobsTest, answers_that_are_not_rays_are_told_as_such) {
  struct Row {
    std::string sent;
    StatusCode code;
    const char* words;
  };
  const std::string huge = "HTTP/1.1 200 OK\r\nContent-Length: 4000000\r\n\r\n";
  for (const Row& row :
       {Row{"HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n<html>hi</html>", StatusCode::kCorruption, "<html>hi"},
        Row{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", StatusCode::kCorruption, "no list"},
        Row{"SSH-2.0-OpenSSH_9.2\r\n", StatusCode::kUnavailable, "does not speak HTTP"},
        Row{"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n[", StatusCode::kUnavailable, "cut"},
        Row{"", StatusCode::kUnavailable, "cut"},
        Row{"HTTP/1.1 302 Found\r\nLocation: http://elsewhere/\r\nContent-Length: 0\r\n\r\n", StatusCode::kUnavailable,
            "elsewhere"},
        Row{"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n", StatusCode::kUnavailable, "starting"},
        Row{huge, StatusCode::kResourceExhausted, "larger than"}}) {
    ScriptedServer server([&](Visit& visit) { visit.send(row.sent); });
    Endpoint endpoint = server.endpoint();
    endpoint.most_answer_bytes = 1'000'000;
    const Status status = Jobs(endpoint).list().status();
    EXPECT_EQ(status.code(), row.code) << row.sent << "\n" << status.message();
    EXPECT_THAT(status.message(), HasSubstr(row.words));
  }
}

TEST(JobsTest, living_nodes_are_listed_with_what_they_have) {
  std::string sent =
      R"({"data":{"result":{"result":[{"state":"ALIVE","resources_total":{"CPU":2.0,"node:x":1}},{"state":"DEAD"}]}}})";
  ScriptedServer server([&](Visit& visit) { visit.answer(200, sent); });
  auto nodes = Jobs(server.endpoint()).nodes();
  ASSERT_TRUE(nodes.is_ok()) << nodes.status().message();
  EXPECT_EQ(*nodes, (std::vector<NodeResources>{{{"CPU", 2.0}, {"node:x", 1.0}}}));
  sent = R"({"data":{"result":null}})";
  EXPECT_EQ(Jobs(server.endpoint()).nodes().status().code(), StatusCode::kCorruption);
}

class FolderTest : public testing::Test {
 protected:
  FolderTest() : folder_(std::filesystem::temp_directory_path() / ("fray-ray-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~FolderTest() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }

  std::filesystem::path folder_;
};

TEST_F(FolderTest, a_working_dir_is_sent_once_and_named_by_its_content) {
  write("main.py", "print(1)\n");
  std::string stored;
  json sent;
  Cluster cluster([&](Visit& visit) {
    if (visit.line == "POST /api/jobs/") sent = json::parse(visit.body);
    if (!visit.line.starts_with("GET /api/packages/gcs/_ray_pkg_") && !visit.line.starts_with("PUT /api/packages/")) {
      return false;
    }
    const std::string name = visit.line.substr(visit.line.rfind('/') + 1);
    if (visit.line[0] == 'P') stored = name;
    visit.answer(visit.line[0] == 'P' || stored == name ? 200 : 404, "");
    return true;
  });
  JobRequest request{.entrypoint = "python main.py"};
  request.runtime_env["working_dir"] = folder_.string();
  ASSERT_TRUE(cluster.jobs().submit(request).is_ok());
  EXPECT_EQ(sent["runtime_env"]["working_dir"], "gcs://" + stored);
  ASSERT_TRUE(cluster.jobs().submit(request).is_ok());
  const auto requests = cluster.server().requests();
  EXPECT_EQ(std::count_if(requests.begin(), requests.end(), [](auto& line) { return line.starts_with("PUT"); }), 1);
}

TEST_F(FolderTest, the_same_files_give_the_same_package_and_others_another) {
  write("a/b.txt", "1");
  const std::string first = make_package({folder_.string()})->name;
  std::filesystem::last_write_time(folder_ / "a/b.txt", std::filesystem::file_time_type::clock::now());
  EXPECT_EQ(make_package({folder_.string() + "/"})->name, first);
  write("a/b.txt", "2");
  EXPECT_NE(make_package({folder_.string()})->name, first);
}

TEST_F(FolderTest, what_is_ignored_is_not_packed) {
  write("main.py", "");
  write("big.bin", std::string(3000, 'x'));
  write("__pycache__/main.pyc", "x");
  write(".git/config", "x");
  write("sub/.gitignore", "*.log\n");
  write("sub/a.log", "x");
  write("sub/keep", "x");
  auto package = make_package({folder_.string(), {"*.bin"}});
  ASSERT_TRUE(package.is_ok()) << package.status().message();
  std::string bytes(package->bytes, '\0');
  ASSERT_EQ(::pread(package->file.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  EXPECT_THAT(bytes, HasSubstr("main.py"));
  EXPECT_THAT(bytes, HasSubstr("sub/keep"));
  EXPECT_THAT(bytes, HasSubstr("sub/.gitignore"));
  for (const char* left_out : {"big.bin", "__pycache__", ".git/config", "a.log"}) {
    EXPECT_THAT(bytes, testing::Not(HasSubstr(left_out)));
  }
}

TEST_F(FolderTest, a_package_over_the_limit_names_its_largest_files) {
  write("small", "x");
  write("large", std::string(5000, 'x'));
  auto refused = make_package({folder_.string(), {}, false, 4000});
  EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.status().message(), HasSubstr("large (5000 bytes)"));
}

TEST_F(FolderTest, links_in_a_circle_end) {
  write("a/file", "x");
  std::filesystem::create_directory_symlink(folder_, folder_ / "a/up");
  std::filesystem::create_symlink("nowhere", folder_ / "dangling");
  EXPECT_TRUE(make_package({folder_.string()}).is_ok());
}

TEST_F(FolderTest, a_folder_that_is_not_there_is_told) {
  EXPECT_EQ(make_package({(folder_ / "no").string()}).status().code(), StatusCode::kInvalidArgument);
  write("notes.txt", "x");
  EXPECT_EQ(make_package({(folder_ / "notes.txt").string()}).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(FolderTest, python_reads_the_archive) {
  write("pkg/__init__.py", "A = 1\n");
  write("pkg/run.sh", "#!/bin/sh\n");
  std::filesystem::permissions(folder_ / "pkg/run.sh", std::filesystem::perms::owner_all);
  std::filesystem::create_directories(folder_ / "pkg/empty");
  write("pkg/umlaut-\xc3\xbc.txt", "x");
  auto package = make_package({(folder_ / "pkg").string(), {}, true});
  ASSERT_TRUE(package.is_ok());
  std::ofstream(folder_ / "x.zip", std::ios::binary) << [&] {
    std::string bytes(package->bytes, '\0');
    EXPECT_GT(::pread(package->file.get(), bytes.data(), bytes.size(), 0), 0);
    return bytes;
  }();
  const std::string script =
      "import sys,zipfile\n"
      "z=zipfile.ZipFile(sys.argv[1])\n"
      "assert z.testzip() is None\n"
      "assert "
      "sorted(z.namelist())==['pkg/__init__.py','pkg/empty/','pkg/run.sh','pkg/umlaut-\\u00fc.txt'],z.namelist()\n"
      "assert z.read('pkg/__init__.py')==b'A = 1\\n'\n"
      "assert z.getinfo('pkg/run.sh').external_attr>>16&0o777==0o755\n";
  std::ofstream(folder_ / "read.py") << script;
  EXPECT_EQ(std::system(("python3 " + (folder_ / "read.py").string() + " " + (folder_ / "x.zip").string()).c_str()), 0);
}

}  // namespace
}  // namespace fray::ray
