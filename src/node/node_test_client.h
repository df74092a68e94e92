// Help for tests that start a node process and speak the wire with it.
//
// Threading:  the test's.
// Ownership:  TestNode owns a folder for sockets and the first client's connection; its end ends the node.
// Failure:    waits have a deadline; an unmet one is a gtest failure and returns nothing.
#pragma once

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "os/process/pidfd.h"
#include "os/process/spawn.h"
#include "os/sockets/listener.h"
#include "os/sockets/socket_pair.h"
#include "wire/control.h"
#include "wire/demand.h"
#include "wire/lease.h"
#include "wire/session.h"
#include "wire/socket.h"
#include "wire/welcome.h"
#include "wire/worker_key.h"

namespace fray::node {

// Longer where FRAY_TEST_SLOWNESS says so, as under sanitizers.
inline std::chrono::seconds patience() {
  const char* slowness = std::getenv("FRAY_TEST_SLOWNESS");
  return std::chrono::seconds(20 * (slowness == nullptr ? 1 : std::max(1, std::atoi(slowness))));
}
inline const std::chrono::seconds kPatience = patience();

inline int milliseconds_until(std::chrono::steady_clock::time_point deadline) {
  auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::max<long>(0, left.count()));
}

// Whether `fd` becomes readable (a pidfd: its process ends) in time.
inline bool becomes_readable(int fd, std::chrono::milliseconds limit = kPatience) {
  pollfd watched{fd, POLLIN, 0};
  auto deadline = std::chrono::steady_clock::now() + limit;
  while (true) {
    int ready = ::poll(&watched, 1, milliseconds_until(deadline));
    if (ready > 0) return true;
    if (ready == 0) return false;
  }
}

// A program that the build put beside this test.
inline std::string beside_this_test(const std::string& name) {
  std::error_code ignored;
  std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / name;
  EXPECT_TRUE(std::filesystem::exists(program)) << program << " has not been built";
  return program.string();
}

// What sanitizers were told in the environment, for processes that get one of their own.
inline std::vector<std::pair<std::string, std::string>> sanitizer_options() {
  std::vector<std::pair<std::string, std::string>> options;
  for (const char* name : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"}) {
    if (const char* value = std::getenv(name)) options.emplace_back(name, value);
  }
  return options;
}

struct Received {
  wire::ControlType type{};
  std::uint64_t id = 0;
  std::string body;
  std::vector<os::Fd> fds;
};

class TestClient {
 public:
  explicit TestClient(os::Fd fd) : socket_(std::move(fd)) {}

  template <typename Message>
  void send(wire::ControlType type, std::uint64_t id, const Message& message) {
    send_raw(wire::frame(type, id, message));
  }
  template <typename Message>
  void send(wire::ControlType type, std::uint64_t id, const Message& message, os::Fd fd) {
    std::vector<os::Fd> fds;
    fds.push_back(std::move(fd));
    socket_.queue(wire::frame(type, id, message, 1), std::move(fds));
    flush();
  }
  void send_raw(std::string_view bytes) {
    socket_.queue(bytes);
    flush();
  }
  void flush() {
    while (socket_.flush().is_ok() && socket_.has_output()) {
      pollfd watched{socket_.fd(), POLLOUT, 0};
      ::poll(&watched, 1, 1000);
    }
  }
  void hello(wire::Role role = wire::Role::kDriver, const std::string& release = FRAY_VERSION) {
    wire::Hello message;
    message.role = role;
    message.pid = ::getpid();
    message.release = release;
    send(wire::ControlType::kHello, 0, message);
  }

  // The next frame; nothing at the end of the connection or after kPatience.
  std::optional<Received> receive() {
    auto deadline = std::chrono::steady_clock::now() + kPatience;
    wire::Incoming frame;
    while (true) {
      auto next = socket_.next(&frame);
      if (next.is_ok() && *next) {
        return Received{static_cast<wire::ControlType>(frame.header.type), frame.header.id, std::string(frame.body),
                        std::move(frame.fds)};
      }
      pollfd watched{socket_.fd(), POLLIN, 0};
      if (ended_ || ::poll(&watched, 1, milliseconds_until(deadline)) <= 0) return std::nullopt;
      ended_ = !socket_.fill().is_ok();
    }
  }
  // The next frame of this type, those before it dropped.
  std::optional<Received> receive(wire::ControlType type) {
    while (auto received = receive()) {
      if (received->type == type) return received;
    }
    return std::nullopt;
  }
  template <typename Message>
  std::optional<Message> expect(wire::ControlType type) {
    auto received = receive(type);
    EXPECT_TRUE(received) << "no message of type " << static_cast<int>(type) << " came";
    if (!received) return std::nullopt;
    auto message = wire::decode<Message>(received->body);
    EXPECT_TRUE(message.is_ok());
    return std::move(message.value());
  }
  // Reads until the node closes.
  bool ends() {
    while (receive()) {
    }
    return ended_;
  }
  nlohmann::json status() {
    send_raw(wire::frame(wire::ControlType::kStatusRequest));
    auto text = expect<wire::Text>(wire::ControlType::kStatusReply);
    return nlohmann::json::parse(text ? text->text : "{}");
  }
  int fd() const { return socket_.fd(); }
  void close() { socket_.close(); }

 private:
  wire::FrameSocket socket_;
  bool ended_ = false;
};

// A process started by the node, as a test knows it: by a pidfd.
inline os::Fd watch_process(pid_t pid) {
  auto opened = os::open_pidfd(pid);
  EXPECT_TRUE(opened.is_ok()) << "process " << pid;
  return opened.is_ok() ? std::move(opened).value() : os::Fd();
}

// What goes wrong in a process of the test; see base/fault.h.
struct Faults {
  std::string plan;
};

class TestNode {
 public:
  explicit TestNode(const std::string& options = R"({"cpus": 2})") : TestNode(options, make_folder()) {}
  explicit TestNode(const Faults& faults, const std::string& options = R"({"cpus": 2})")
      : TestNode(options, make_folder(), faults) {}
  TestNode(const std::string& options, std::string home, const Faults& faults = {}) : home_(std::move(home)) {
    auto ends = os::make_socket_pair().value();
    os::SpawnRequest request;
    request.command = {beside_this_test("fray"), "node", "--embedded", "--client-fd", "3", "--options-json", options};
    request.environment = sanitizer_options();
    request.environment.emplace_back("FRAY_HOME", home_);
    request.environment.emplace_back("FRAY_FAULT", faults.plan);
    request.fds = {{ends.second.get(), 3}};
    request.standard_error = 2;
    auto pid = os::spawn(request);
    EXPECT_TRUE(pid.is_ok()) << pid.status().message();
    if (pid.is_ok()) ::waitpid(*pid, nullptr, 0);
    first_.emplace(std::move(ends.first));
  }
  ~TestNode() {
    os::Fd node = std::move(pidfd_);
    first_.reset();
    if (node.is_open()) {
      EXPECT_TRUE(becomes_readable(node.get())) << "the node does not end";
    }
    std::error_code ignored;
    std::filesystem::remove_all(home_, ignored);
  }

  TestClient& client() { return *first_; }
  void drop_client() { first_.reset(); }
  // Says hello as a driver.
  wire::Welcome join() {
    first_->hello();
    auto welcome = first_->expect<wire::Welcome>(wire::ControlType::kWelcome);
    if (!welcome) return {};
    session_folder_ = welcome->session.folder;
    node_pid_ = first_->status()["node"]["pid"];
    pidfd_ = watch_process(node_pid_);
    return *welcome;
  }
  // Another connection, over the listening socket.
  TestClient connect() {
    auto connected = os::connect_to(session_folder_ + "/node.sock");
    EXPECT_TRUE(connected.is_ok()) << connected.status().message();
    return TestClient(connected.is_ok() ? std::move(connected).value() : os::Fd());
  }
  const std::string& home() const { return home_; }
  const std::string& session_folder() const { return session_folder_; }
  const os::Fd& pidfd() const { return pidfd_; }
  pid_t pid() const { return node_pid_; }

 private:
  static std::string make_folder() {
    std::string path = "/tmp/fray-test-XXXXXX";
    EXPECT_NE(::mkdtemp(path.data()), nullptr);
    return path;
  }

  std::string home_;
  std::string session_folder_;
  pid_t node_pid_ = 0;
  os::Fd pidfd_;
  std::optional<TestClient> first_;
};

inline wire::DefineKey test_key(std::uint32_t number = 0, const std::string& mode = "work") {
  wire::DefineKey key;
  key.key = number;
  key.description.command = {beside_this_test("fork_server_test_main"), mode};
  key.description.folder = "/";
  key.description.environment = sanitizer_options();
  return key;
}

// A worker leased through a control connection.
struct TestLease {
  LeaseId lease = 0;
  pid_t pid = 0;
  os::Fd direct;

  void order(char what) const { EXPECT_EQ(::write(direct.get(), &what, 1), 1); }
  template <typename T>
  T answer() const {
    T value{};
    const bool answered = becomes_readable(direct.get()) &&
                          ::read(direct.get(), &value, sizeof(value)) == static_cast<ssize_t>(sizeof(value));
    if (!answered) throw std::runtime_error("the worker has not answered");
    return value;
  }
};

// Leases one worker. `leases_before` is how many leases of demand 0 the client has already, which is
// what it tells the node with its demand.
inline TestLease lease_worker(TestClient& client, double cpus = 1, std::uint32_t leases_before = 0) {
  client.send(wire::ControlType::kDefineKey, 0, test_key());
  wire::Demand demand;
  demand.count = 1;
  demand.leases = leases_before;
  EXPECT_TRUE(demand.shape.resources.set("CPU", cpus).is_ok());
  client.send(wire::ControlType::kDemand, 0, demand);
  TestLease lease;
  auto granted = client.receive(wire::ControlType::kGrant);
  // Not an expectation: a test that went on with the numbers of no process would kill all that there are.
  if (!granted) throw std::runtime_error("no lease was granted");
  lease.lease = granted->id;
  lease.pid = wire::decode<wire::Grant>(granted->body).value().pid;
  lease.direct = std::move(granted->fds.front());
  return lease;
}

}  // namespace fray::node
