// For tests: a server on a loop of the test's own, with a node that answers as the test says, jobs in memory, and clients that
// are sockets.
//
// Threading:  one thread: run() turns the loop while a client waits.
// Ownership:  owns everything, in a folder that it removes.
// Failure:    aborts when the system gives no socket.
#pragma once

#include <filesystem>
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
#include "os/listener.h"
#include "wire/control.h"
#include "wire/socket.h"

namespace fray::http {

// Speaks as much of the node's language as the API asks for.
class FakeNode {
 public:
  FakeNode(event::Loop& loop, const std::string& path)
      : loop_(loop), listener_(os::Listener::listen(path).value()), acceptor_(loop) {
    FRAY_CHECK(acceptor_.start(listener_.fd(), [this](os::Fd socket) { accept(std::move(socket)); }).is_ok(),
               "the test's node");
  }
  ~FakeNode() { hang_up(); }
  void hang_up() {
    if (socket_.is_open()) loop_.remove(socket_.fd());
    socket_.close();
  }

  nlohmann::json status = {{"schema", "fray/v1"},
                           {"node", {{"pid", 1}, {"release", "x"}}},
                           {"workers", nlohmann::json::array()},
                           {"actors", {{{"class", "Counter"}, {"state", "alive"}}}}};

 private:
  void accept(os::Fd socket) {
    socket_ = wire::FrameSocket(std::move(socket));
    FRAY_CHECK(loop_.add(socket_.fd(), EPOLLIN, [this](std::uint32_t) { read(); }).is_ok(), "the test's node");
  }
  void read() {
    const Status filled = socket_.fill();
    wire::Incoming frame;
    while (socket_.next(&frame).value()) {
      if (static_cast<wire::ControlType>(frame.header.type) != wire::ControlType::kStatusRequest) continue;
      socket_.queue(
          wire::frame(wire::ControlType::kStatusReply, frame.header.id, wire::Text{StatusCode::kOk, status.dump()}));
    }
    if (!filled.is_ok() || !socket_.flush().is_ok()) return hang_up();
    loop_.change(socket_.fd(), socket_.has_output() ? EPOLLIN | EPOLLOUT : EPOLLIN);
  }

  event::Loop& loop_;
  os::Listener listener_;
  event::Acceptor acceptor_;
  wire::FrameSocket socket_;
};

// Jobs that run when the test says so.
class FakeJobs : public JobService {
 public:
  struct Job {
    JobOrder order;
    std::string state = "running";
    std::string output;
  };

  explicit FakeJobs(event::Loop& loop) : loop_(loop) {}

  void submit(JobOrder order, Callback callback) override {
    if (order.id.empty()) order.id = "job-" + std::to_string(jobs.size());
    const std::string id = order.id;
    if (jobs.contains(id)) return later(callback, Status(StatusCode::kAlreadyExists, "there is a job " + id));
    jobs[id].order = std::move(order);
    later(callback, describe(id).dump());
  }
  void get(const std::string& id, Callback callback) override {
    nlohmann::json list = nlohmann::json::array();
    for (const auto& [name, job] : jobs) {
      if (id.empty() || name.starts_with(id)) list.push_back(describe(name));
    }
    if (!id.empty() && list.empty()) return later(callback, Status(StatusCode::kNotFound, "no job " + id));
    later(callback, list.dump());
  }
  void stop(const std::string& id, Callback callback) override {
    if (!jobs.contains(id)) return later(callback, Status(StatusCode::kNotFound, "no job " + id));
    end(id, "stopped");
    later(callback, describe(id).dump());
  }
  void remove(const std::string& id, Callback callback) override {
    if (!jobs.contains(id)) return later(callback, Status(StatusCode::kNotFound, "no job " + id));
    const std::string text = nlohmann::json::array({describe(id)}).dump();
    jobs.erase(id);
    later(callback, text);
  }
  std::unique_ptr<LogReader> read_log(const std::string& id, LogPlace place) override {
    return std::make_unique<Reader>(*this, id, place);
  }

  void print(const std::string& id, const std::string& text) {
    jobs[id].output += text;
    wake();
  }
  void end(const std::string& id, const std::string& state) {
    jobs[id].state = state;
    wake();
  }

  std::map<std::string, Job> jobs;

 private:
  class Reader : public LogReader {
   public:
    Reader(FakeJobs& jobs, std::string id, LogPlace place) : jobs_(jobs), id_(std::move(id)), place_(place) {
      jobs_.readers_.push_back(this);
    }
    ~Reader() override { std::erase(jobs_.readers_, this); }
    void next(bool wait, Callback callback) override {
      wait_ = wait;
      callback_ = std::move(callback);
      jobs_.loop_.after({}, [this, alive = std::weak_ptr<int>(alive_)] {
        if (alive.lock()) look();
      });
    }
    void look() {
      if (!callback_) return;
      auto job = jobs_.jobs.find(id_);
      if (job == jobs_.jobs.end()) return answer(Status(StatusCode::kNotFound, "no job " + id_));
      LogPieces pieces;
      pieces.ended = job->second.state != "running";
      const std::string& output = job->second.output;
      if (place_.offset < output.size()) {
        pieces.pieces.push_back({0, 1, place_.offset, 0, output.substr(place_.offset)});
        place_.offset = output.size();
      }
      if (wait_ && pieces.pieces.empty() && !pieces.ended) return;
      answer(std::move(pieces));
    }

   private:
    void answer(Result<LogPieces> pieces) { std::exchange(callback_, {})(std::move(pieces)); }

    FakeJobs& jobs_;
    std::string id_;
    LogPlace place_;
    bool wait_ = false;
    Callback callback_;
    std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  };

  nlohmann::json describe(const std::string& id) {
    const Job& job = jobs[id];
    const bool over = job.state != "running";
    auto code = job.state == "failed" ? nlohmann::json(3) : nlohmann::json(nullptr);
    auto metadata = nlohmann::json::parse(job.order.metadata.empty() ? "{}" : job.order.metadata, nullptr, false);
    return {{"id", id},
            {"name", job.order.name},
            {"command", job.order.command},
            {"metadata", metadata},
            {"status", job.state},
            {"message", nullptr},
            {"exit_code", code},
            {"submitted_at", "1970-01-01T00:00:05.250000Z"},
            {"ended_at", over ? nlohmann::json("1970-01-01T00:00:07.000000Z") : nlohmann::json(nullptr)}};
  }
  void later(const Callback& callback, Result<std::string> answer) {
    loop_.after({}, [callback, answer = std::move(answer)] { callback(answer); });
  }
  void wake() {
    for (Reader* reader : std::vector(readers_)) reader->look();
  }

  event::Loop& loop_;
  std::vector<Reader*> readers_;
};

class HttpWorld {
 public:
  static constexpr const char* kToken = "0123456789abcdef";

  HttpWorld() {
    folder = std::filesystem::temp_directory_path() /
             ("fray-http-" + std::to_string(::getpid()) + "-" + std::to_string(++count_));
    std::filesystem::create_directories(folder);
    loop = event::Loop::create().value();
    node.emplace(*loop, folder / "n.sock");
    link = NodeLink::open(*loop, folder / "n.sock").value();
    jobs.emplace(*loop);
    api.emplace(*loop, *link, &*jobs, folder / "packages");
    server = Server::start(*loop, 0, kToken, api->routes()).value();
  }
  ~HttpWorld() {
    server.reset();
    api.reset();
    link.reset();
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
  std::unique_ptr<event::Loop> loop;
  std::optional<FakeNode> node;
  std::unique_ptr<NodeLink> link;
  std::optional<FakeJobs> jobs;
  std::optional<Api> api;
  std::unique_ptr<Server> server;

 private:
  static inline int count_ = 0;
};

}  // namespace fray::http
