// For tests: a server on a loop of the test's own, with a node that answers as the test says, and clients that are sockets.
//
// Threading:  one thread: run() turns the loop while a client waits.
// Ownership:  owns everything, in a folder that it removes.
// Failure:    aborts when the system gives no socket.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "http/api.h"
#include "http/server.h"
#include "node/node_view.h"
#include "node/queues/queue_carrier.h"
#include "os/fd.h"
#include "os/process/child_processes.h"
#include "os/process/spawn.h"

namespace fray::http {

// Says what it was asked; ticks when the test says so.
class FakeDashboard : public node::DashboardView {
 public:
  using json = nlohmann::json;

  LookId look(std::function<void()> on_tick) override {
    looks[++last_look_] = std::move(on_tick);
    return last_look_;
  }
  void leave(LookId look) override { looks.erase(look); }
  json session() override { return {{"node", "0badcafe"}}; }
  json now() override { return {{"now", true}}; }
  const std::string& now_text() override { return text; }
  json history(double seconds) override { return {{"seconds", seconds}}; }
  json tasks(std::uint64_t after, std::size_t limit) override {
    json rows = json::array();
    for (std::uint64_t i = after; i < ended; ++i) rows.push_back({7});
    return {{"next", ended},
            {"left_out", 0},
            {"limit", limit},
            {"functions", {{7, "<b>step</b>\xff"}}},
            {"workers", json::array()},
            {"rows", rows},
            {"running", json::array()}};
  }
  std::uint64_t tasks_since(double) override { return 0; }
  Result<json> task(const std::string& name) override {
    if (name != "1-42") return Status(StatusCode::kNotFound, "no task " + name);
    return json{{"task", name}};
  }
  json run_times() override { return {{"bounds_seconds", json::array()}, {"functions", json::array()}}; }
  Result<json> functions(const node::ListQuery& query) override { return listed(query); }
  Result<json> actors(const node::ListQuery& query) override { return listed(query); }
  Result<json> objects(const node::ListQuery& query) override { return listed(query); }
  Result<json> workers(const node::ListQuery& query) override { return listed(query); }
  json log(std::size_t lines, std::uint64_t* end) override {
    *end = 10;
    return {{"lines", {"so many: " + std::to_string(lines)}}};
  }
  json log_after(std::uint64_t* end) override {
    ++*end;
    return {{"lines", {"at " + std::to_string(*end)}}};
  }

  void stack(std::int32_t pid, OnDocument on_document) override {
    if (pid == 4711) return on_document(json{{"pid", pid}});
    on_document(Status(StatusCode::kNotFound, "process is none"));
  }

  void flame(std::int32_t pid, std::uint64_t seconds, OnDocument on_document) override {
    if (pid == 4711) return on_document(json{{"pid", pid}, {"seconds", seconds}});
    on_document(Status(StatusCode::kNotFound, "process is none"));
  }

  void tick() {
    for (const auto& [id, on_tick] : std::map(looks)) on_tick();
  }

  std::map<LookId, std::function<void()>> looks;
  std::uint64_t ended = 2;
  std::string text = R"({"now":true})";

 private:
  static json listed(const node::ListQuery& query) {
    return {{"sort", query.sort},
            {"descending", query.descending},
            {"limit", query.limit},
            {"after", query.after},
            {"search", query.search}};
  }

  LookId last_look_ = 0;
};

// In place of a program, a line of shell that the test has chosen; "$@" are the program's words.
class ShellSpawner : public os::Spawner {
 public:
  Result<pid_t> spawn(const os::SpawnRequest& request) override {
    os::SpawnRequest shell = request;
    shell.command = {"/bin/sh", "-c", line, "sh"};
    shell.command.insert(shell.command.end(), request.command.begin() + 1, request.command.end());
    return os::spawn(shell);
  }

  std::string line = "exit 1";
};

// A node with jobs in memory, which run when the test says so.
class FakeNode : public node::NodeView {
 public:
  struct Job {
    JobSpec spec;
    JobState state = JobState::kRunning;
    std::uint32_t attempt = 1;
    std::map<std::uint32_t, std::string> output;  // of each attempt
  };

  std::string status() override { return document.dump(); }
  Result<JobInfo> submit_job(JobSpec spec) override {
    if (spec.id.empty()) spec.id = "job-" + std::to_string(jobs.size());
    const std::string id = spec.id;
    if (jobs.contains(id)) return Status(StatusCode::kAlreadyExists, "there is a job " + id);
    jobs[id].spec = std::move(spec);
    return info(id);
  }
  Result<Infos> get_jobs(const Ids& ids) override {
    Infos list;
    for (const auto& [name, job] : jobs) {
      if (ids.empty() || name.starts_with(ids[0])) list.push_back(info(name));
    }
    if (!ids.empty() && list.empty()) return none(ids[0]);
    return list;
  }
  Result<Infos> stop_jobs(const Ids& ids) override {
    if (!jobs.contains(ids[0])) return none(ids[0]);
    end(ids[0], JobState::kStopped);
    return Infos{info(ids[0])};
  }
  Result<Infos> remove_jobs(const Ids& ids) override {
    if (!jobs.contains(ids[0])) return none(ids[0]);
    Infos removed{info(ids[0])};
    jobs.erase(ids[0]);
    return removed;
  }
  wire::JobLogOpened open_job_log(const wire::OpenJobLog& request) override {
    wire::JobLogOpened opened;
    if (!jobs.contains(request.id)) {
      opened.code = StatusCode::kNotFound;
      opened.message = "no job " + request.id;
      return opened;
    }
    opened.id = request.id;
    opened.attempt = request.attempt != 0 ? request.attempt : jobs[request.id].attempt;
    if (opened.attempt > jobs[request.id].attempt) {
      opened.code = StatusCode::kNotFound;
      opened.message = "no such attempt";
      return opened;
    }
    if (opened.attempt > 0) opened.cursors = {{0, 1, 0}, {0, 2, 0}};
    if (request.tail_lines != wire::OpenJobLog::kAll) {
      const std::string& output = jobs[request.id].output[opened.attempt];
      std::size_t begin = output.size();
      for (std::uint64_t left = request.tail_lines; left > 0 && begin > 0; --left) {
        begin = begin < 2 ? 0 : output.rfind('\n', begin - 2) + 1;
      }
      opened.cursors.front().offset = begin;
    }
    return opened;
  }
  ReaderId read_job_log(wire::ReadJobLog request, OnPieces on_pieces) override {
    const wire::JobLogPieces pieces = look(request);
    if (is_answer(request, pieces)) {
      on_pieces(pieces);
      return 0;
    }
    readers[++last_reader_] = {std::move(request), std::move(on_pieces)};
    return last_reader_;
  }
  void cancel_read(ReaderId reader) override { readers.erase(reader); }
  queue::AskId ask_queue(queue::Request request, OnQueueAnswer on_answer) override {
    return queues->ask(std::move(request), std::move(on_answer));
  }
  void withdraw_from_queue(queue::AskId ask) override { queues->withdraw(ask); }

  node::DashboardView& dashboard() override { return shown; }
  node::Clusters& clusters() override { return *others; }

  void print(const std::string& id, const std::string& text) {
    jobs[id].output[jobs[id].attempt] += text;
    wake();
  }
  void try_again(const std::string& id) {
    ++jobs[id].attempt;
    wake();
  }
  void end(const std::string& id, JobState state) {
    jobs[id].state = state;
    wake();
  }

  nlohmann::json document = {{"schema", "fray/v1"},
                             {"node", {{"pid", 1}, {"release", "x"}}},
                             {"workers", nlohmann::json::array()},
                             {"actors", {{{"class", "Counter"}, {"state", "alive"}}}}};
  FakeDashboard shown;
  std::unique_ptr<node::OwnPrograms> programs;  // a line of shell in place of each
  std::unique_ptr<node::Clusters> others;
  std::map<std::string, Job> jobs;
  std::map<ReaderId, std::pair<wire::ReadJobLog, OnPieces>> readers;  // that wait
  std::unique_ptr<node::QueueCarrier> queues;                         // as every node has them

 private:
  static Status none(const std::string& id) { return Status(StatusCode::kNotFound, "no job " + id); }

  wire::JobLogPieces look(const wire::ReadJobLog& request) {
    wire::JobLogPieces pieces;
    Job& job = jobs[request.id];
    const std::string& output = job.output[request.attempt];
    for (const wire::LogCursor& cursor : request.cursors) {
      if (cursor.stream != 1 || cursor.offset >= output.size()) continue;
      pieces.pieces.push_back({cursor, 0, output.substr(cursor.offset)});
    }
    pieces.newest = job.attempt;
    pieces.job_ended = is_final(job.state);
    pieces.ended = pieces.pieces.empty() && (pieces.job_ended || job.attempt > request.attempt);
    return pieces;
  }
  static bool is_answer(const wire::ReadJobLog& request, const wire::JobLogPieces& pieces) {
    return !request.wait || !pieces.pieces.empty() || pieces.ended;
  }
  void wake() {
    for (auto it = readers.begin(); it != readers.end();) {
      const wire::JobLogPieces pieces = look(it->second.first);
      if (!is_answer(it->second.first, pieces)) {
        ++it;
        continue;
      }
      const OnPieces on_pieces = std::move(it->second.second);
      readers.erase(it);
      on_pieces(pieces);
      it = readers.begin();
    }
  }
  JobInfo info(const std::string& id) {
    JobInfo info;
    info.spec = jobs[id].spec;
    info.state = jobs[id].state;
    info.exit_code = info.state == JobState::kFailed ? 3 : -1;
    info.submitted_unix_ns = 5'250'000'000;
    info.ended_unix_ns = info.has_ended() ? 7'000'000'000 : 0;
    return info;
  }

  ReaderId last_reader_ = 0;
};

class HttpWorld {
 public:
  static constexpr const char* kToken = "0123456789abcdef";

  HttpWorld() {
    folder = std::filesystem::temp_directory_path() /
             ("fray-http-" + std::to_string(::getpid()) + "-" + std::to_string(++count_));
    std::filesystem::create_directories(folder);
    loop = event::Loop::create().value();
    node->queues = std::make_unique<node::QueueCarrier>(*loop, folder / "queues", false);
    node->programs = std::make_unique<node::OwnPrograms>(*loop, spawner, "fray");
    node->others = std::make_unique<node::Clusters>(*loop, *node->programs);
    api.emplace(*loop, *node, folder / "packages");
    server = Server::start(*loop, 0, kToken, api->sessions(), api->routes()).value();
  }
  ~HttpWorld() {
    server.reset();
    api.reset();
    node.reset();
    std::filesystem::remove_all(folder);
  }

  std::string host() const { return "127.0.0.1:" + std::to_string(server->port()); }
  std::string headers() const {
    return "Host: " + host() + "\r\nAuthorization: Bearer " + kToken + "\r\nContent-Type: application/json\r\n";
  }

  os::Fd connect() const {
    os::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(server->port());
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    FRAY_CHECK(::connect(fd.get(), reinterpret_cast<sockaddr*>(&name), sizeof(name)) == 0, "the test's client");
    return fd;
  }
  static void send(const os::Fd& fd, std::string_view bytes) {
    FRAY_CHECK(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()),
               "the test's client");
  }
  // Turns the loop until the client has got what `enough` wants, or the connection has ended.
  template <typename Enough>
  std::string read(const os::Fd& fd, Enough enough) {
    std::string text;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < deadline && !enough(text)) {
      loop->run_once(std::chrono::milliseconds(5));
      while (auto ended = os::reap_one()) node->programs->child_ended(*ended);
      char chunk[65536];
      const ssize_t got = ::recv(fd.get(), chunk, sizeof(chunk), MSG_DONTWAIT);
      if (got > 0) text.append(chunk, static_cast<std::size_t>(got));
      if (got == 0 || (got < 0 && errno != EAGAIN)) break;
    }
    return text;
  }
  std::string read_to_end(const os::Fd& fd) {
    return read(fd, [](const std::string&) { return false; });
  }
  // A whole answer on a connection of its own.
  std::string ask(const std::string& line, const std::string& head, const std::string& body = "") {
    os::Fd fd = connect();
    send(fd, line + " HTTP/1.1\r\n" + head + "Connection: close\r\n" +
                 (body.empty() ? "" : "Content-Length: " + std::to_string(body.size()) + "\r\n") + "\r\n" + body);
    return read_to_end(fd);
  }
  std::string ask(const std::string& line, const nlohmann::json& body = nullptr) {
    return ask(line, headers(), body.is_null() ? "" : body.dump());
  }
  static int status_of(const std::string& answer) { return answer.size() > 12 ? std::stoi(answer.substr(9, 3)) : 0; }
  static std::string body_of(const std::string& answer) {
    const std::size_t end = answer.find("\r\n\r\n");
    return end == std::string::npos ? "" : answer.substr(end + 4);
  }
  nlohmann::json json(const std::string& line, const nlohmann::json& body = nullptr) {
    return nlohmann::json::parse(body_of(ask(line, body)), nullptr, false);
  }

  std::filesystem::path folder;
  ShellSpawner spawner;
  std::unique_ptr<event::Loop> loop;
  std::unique_ptr<FakeNode> node = std::make_unique<FakeNode>();
  std::optional<Api> api;
  std::unique_ptr<Server> server;

 private:
  static inline int count_ = 0;
};

}  // namespace fray::http
