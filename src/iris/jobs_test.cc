#include "iris/jobs.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http_client/scripted_server.h"
#include "iris/controller.h"
#include "iris/messages.h"

namespace fray::iris {
namespace {

using http_client::ScriptedServer;
using testing::ElementsAre;
using testing::HasSubstr;
using Visit = ScriptedServer::Visit;

constexpr std::chrono::milliseconds kShort{2'000};
const std::string kService = "POST /iris.cluster.ControllerService/";

// In chunks, as a controller answers.
template <typename Message>
void reply(Visit& visit, const Message& message) {
  const std::string body = encode(message);
  visit.send(
      "HTTP/1.1 200 OK\r\nContent-Type: application/proto\r\nContent-Encoding: identity\r\n"
      "Transfer-Encoding: chunked\r\n\r\n");
  for (char byte : body) visit.send(std::string("1\r\n") + byte + "\r\n");
  visit.send("0\r\n\r\n");
}

void refuse(Visit& visit, int status, const std::string& code) {
  visit.answer(status, R"({"code": ")" + code + R"(", "message": "said by the test"})");
}

bool is(const Visit& visit, const char* method) { return visit.line == kService + method; }

// A controller that keeps its jobs, and lets the test spoil what it answers.
class FakeController {
 public:
  using Spoil = std::function<bool(Visit&)>;

  explicit FakeController(Spoil spoil = {})
      : spoil_(std::move(spoil)), server_([this](Visit& visit) { serve(visit); }) {}

  Jobs jobs() { return Jobs(server_.endpoint(), "bob", kShort); }
  ScriptedServer& server() { return server_; }
  int taken() const { return taken_; }
  const wire::LaunchJobRequest& launched(const std::string& id) { return jobs_.at(id); }

  bool take(const Visit& visit) {
    wire::LaunchJobRequest request;
    EXPECT_TRUE(decode(visit.body, request));
    const bool is_new = jobs_.emplace(request.name, request).second;
    taken_ += is_new;
    return is_new;
  }

 private:
  void serve(Visit& visit) {
    if (spoil_ && spoil_(visit)) return;
    if (is(visit, "GetAuthInfo")) return reply(visit, wire::GetAuthInfoResponse());
    if (is(visit, "LaunchJob")) {
      if (!take(visit)) return refuse(visit, 409, "already_exists");
      wire::LaunchJobRequest request;
      EXPECT_TRUE(decode(visit.body, request));
      return reply(visit, wire::LaunchJobResponse{request.name});
    }
    if (is(visit, "GetJobStatus")) return show(visit);
    refuse(visit, 404, "not_found");
  }

  void show(Visit& visit) {
    wire::GetJobStatusRequest question;
    EXPECT_TRUE(decode(visit.body, question));
    const auto found = jobs_.find(question.job_id);
    if (found == jobs_.end()) return refuse(visit, 404, "not_found");
    wire::GetJobStatusResponse answer;
    answer.job.emplace().job_id = found->first;
    answer.request = found->second;
    reply(visit, answer);
  }

  Spoil spoil_;
  std::map<std::string, wire::LaunchJobRequest> jobs_;
  std::atomic<int> taken_ = 0;
  ScriptedServer server_;
};

JobRequest request_for(std::string name) {
  JobRequest request;
  request.name = std::move(name);
  request.argv = {"true"};
  return request;
}

TEST(IrisJobsTest, a_job_is_launched_with_what_was_asked_for) {
  std::string head;
  FakeController controller([&](Visit& visit) {
    if (is(visit, "LaunchJob")) head = visit.head;
    return false;
  });
  JobRequest request = request_for("train");
  request.argv = {"python", "a b.py"};
  request.env_vars = {{"A", "1"}};
  request.cpu_millicores = 500;
  request.device = {Device::Kind::kTpu, "v5litepod-16", "4x4", 4};
  request.constraints = {{"region", Constraint::Op::kIn, {"here", "there"}}};
  request.replicas = 4;
  request.metadata = {{"owner", "me"}};
  request.files = {{"x.bin", std::string("\0\1", 2)}};
  request.band = Band::kBatch;
  auto id = controller.jobs().submit(request);
  ASSERT_TRUE(id.is_ok()) << id.status().message();
  EXPECT_EQ(*id, "/bob/train");
  const wire::LaunchJobRequest& sent = controller.launched("/bob/train");
  EXPECT_THAT(sent.entrypoint->run_command->argv, ElementsAre("python", "a b.py"));
  EXPECT_EQ(sent.environment->env_vars.at("A"), "1");
  EXPECT_EQ(sent.environment->env_vars.at("FRAY_JOB_METADATA"), R"({"owner":"me"})");
  EXPECT_EQ(sent.resources->cpu_millicores, 32'000);  // which come with a device
  EXPECT_EQ(sent.resources->device->tpu->topology, "4x4");
  EXPECT_EQ(sent.resources->device->tpu->count, 4);
  EXPECT_EQ(sent.constraints[0].op, wire::CONSTRAINT_OP_IN);
  EXPECT_EQ(sent.constraints[0].values[1].string_value, "there");
  EXPECT_EQ(sent.coscheduling->group_by, "tpu-name");
  EXPECT_EQ(sent.replicas, 4);
  EXPECT_EQ(sent.entrypoint->workdir_files.at("x.bin"), std::string("\0\1", 2));
  EXPECT_EQ(sent.existing_job_policy, wire::EXISTING_JOB_POLICY_ERROR);
  EXPECT_EQ(sent.priority_band, wire::PRIORITY_BAND_BATCH);
  EXPECT_EQ(sent.client_revision_date.size(), std::string("2026-01-01").size());
  EXPECT_THAT(head, HasSubstr("\r\nContent-Type: application/proto\r\n"));
  EXPECT_THAT(head, HasSubstr("\r\nConnect-Protocol-Version: 1\r\n"));
  EXPECT_THAT(head, testing::Not(HasSubstr("Accept-Encoding")));
}

TEST(IrisJobsTest, an_answer_that_is_lost_does_not_launch_twice) {
  FakeController* self = nullptr;
  bool spoilt = false;
  FakeController controller([&](Visit& visit) {
    if (!is(visit, "LaunchJob") || std::exchange(spoilt, true)) return false;
    self->take(visit);
    visit.close();
    return true;
  });
  self = &controller;
  auto id = controller.jobs().submit(request_for("train"));
  ASSERT_TRUE(id.is_ok()) << id.status().message();
  EXPECT_EQ(controller.taken(), 1);
  EXPECT_THAT(controller.server().requests(),
              ElementsAre(kService + "GetAuthInfo", kService + "LaunchJob", kService + "GetJobStatus"));
}

TEST(IrisJobsTest, a_question_that_was_lost_is_sent_again) {
  int lost = 2;
  FakeController controller([&](Visit& visit) {
    if (!is(visit, "LaunchJob") || lost-- <= 0) return false;
    visit.close();
    return true;
  });
  ASSERT_TRUE(controller.jobs().submit(request_for("train")).is_ok());
  EXPECT_EQ(controller.taken(), 1);
}

TEST(IrisJobsTest, somebody_elses_job_of_that_name_is_no_success) {
  bool spoilt = false;
  FakeController controller([&](Visit& visit) {
    if (!is(visit, "LaunchJob") || !spoilt) return false;
    spoilt = false;
    visit.close();
    return true;
  });
  ASSERT_TRUE(controller.jobs().submit(request_for("train")).is_ok());
  EXPECT_EQ(controller.jobs().submit(request_for("train")).status().code(), StatusCode::kAlreadyExists);
  spoilt = true;
  EXPECT_EQ(controller.jobs().submit(request_for("train")).status().code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(controller.taken(), 1);
}

TEST(IrisJobsTest, an_error_of_the_controllers_own_is_asked_again_and_not_for_ever) {
  int errors = 2;
  FakeController controller([&](Visit& visit) {
    if (!is(visit, "GetJobStatus") || errors-- <= 0) return false;
    refuse(visit, 500, "internal");
    return true;
  });
  ASSERT_TRUE(controller.jobs().submit(request_for("train")).is_ok());
  errors = 2;
  EXPECT_EQ(controller.jobs().get("train").status().code(),
            StatusCode::kNotFound);  // of the tasks, which the fake lacks
  errors = 100;
  EXPECT_EQ(controller.jobs().get("train").status().code(), StatusCode::kInternal);
  EXPECT_EQ(errors, 97);
}

TEST(IrisJobsTest, a_controller_before_logins_is_refused_with_its_date) {
  FakeController controller([&](Visit& visit) {
    if (visit.line == "GET /health") {
      visit.answer(200, R"({"status":"ok"})");
      return true;
    }
    visit.send("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    return true;
  });
  const Status refused = controller.jobs().list({}).status();
  EXPECT_EQ(refused.code(), StatusCode::kVersionMismatch);
  EXPECT_THAT(refused.message(), HasSubstr("older than 12 March 2026"));
}

TEST(IrisJobsTest, another_server_is_no_old_controller) {
  ScriptedServer server([](Visit& visit) { visit.send("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"); });
  const Status refused = Jobs(server.endpoint(), "bob", kShort).list({}).status();
  EXPECT_EQ(refused.code(), StatusCode::kUnavailable);
  EXPECT_THAT(refused.message(), HasSubstr("no Iris controller"));
}

TEST(IrisJobsTest, nobody_waits_for_a_controller_that_never_answered) {
  Endpoint gone;
  {
    ScriptedServer server([](Visit& visit) { visit.close(); });
    gone = server.endpoint();
  }
  const auto begin = std::chrono::steady_clock::now();
  const Status refused = Jobs(gone, "bob").list({}).status();
  EXPECT_EQ(refused.code(), StatusCode::kUnavailable);
  EXPECT_THAT(refused.message(), HasSubstr("is the controller up"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST(IrisJobsTest, bytes_that_are_no_protobuf_are_told_as_such) {
  FakeController controller([&](Visit& visit) {
    if (!is(visit, "ListJobs")) return false;
    visit.send("HTTP/1.1 200 OK\r\nContent-Type: application/proto\r\nContent-Length: 3\r\n\r\n\x0a\x7f!");
    return true;
  });
  EXPECT_EQ(controller.jobs().list({}).status().code(), StatusCode::kCorruption);
}

TEST(IrisJobsTest, a_request_that_can_be_no_job_never_leaves) {
  FakeController controller;
  for (const JobRequest& request : {
           JobRequest{.name = "a"},
           JobRequest{.name = "a", .argv = {""}},
           JobRequest{.name = "a/b", .argv = {"true"}},
           JobRequest{.name = "a", .argv = {"true"}, .env_vars = {{"A=B", "1"}}},
           JobRequest{.name = "a", .argv = {"true"}, .replicas = 0},
           JobRequest{.name = "a", .argv = {"true"}, .files = {{"../x", ""}}},
           JobRequest{.name = "a", .argv = {"true"}, .constraints = {{.key = "region", .op = Constraint::Op::kEq}}},
           JobRequest{.name = "a", .argv = {std::string("\xff")}},
           JobRequest{.name = "a", .argv = {"true"}, .workspace = "/no/such/folder"},
       }) {
    EXPECT_EQ(controller.jobs().submit(request).status().code(), StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(controller.taken(), 0);
}

TEST(IrisJobsTest, a_bundle_is_named_after_its_content_and_a_large_one_refused) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "fray-iris-bundle";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder / "sub");
  std::ofstream(folder / "sub/main.py") << "print(1)";
  std::ofstream(folder / "skipped.log") << "x";
  std::ofstream(folder / ".frayignore") << "*.log\n";
  auto bundle = make_bundle(folder);
  ASSERT_TRUE(bundle.is_ok()) << bundle.status().message();
  EXPECT_EQ(bundle->id.size(), 64u);
  EXPECT_THAT(bundle->bytes, HasSubstr("sub/main.py"));
  EXPECT_THAT(bundle->bytes, testing::Not(HasSubstr("skipped.log")));
  EXPECT_EQ(make_bundle(folder)->id, bundle->id);
  std::ofstream(folder / "sub/main.py") << "print(2)";
  EXPECT_NE(make_bundle(folder)->id, bundle->id);
  std::filesystem::resize_file(folder / "sub/main.py", kMostBundleBytes + 1);
  auto refused = make_bundle(folder);
  EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.status().message(), HasSubstr("sub/main.py (25"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace fray::iris
