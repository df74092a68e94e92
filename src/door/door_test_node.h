// For tests: a home of the test's own, and somebody who listens at a socket and says what the test has it say.
//
// Threading:  ScriptedNode has threads of its own, which its end waits for: one that accepts, and one a connection.
// Ownership:  owns the folder, the sockets and the thread, and removes the folder.
// Failure:    aborts when the system gives no socket.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "door/greeting.h"
#include "door/session_info.h"
#include "os/files/run_folder.h"
#include "os/sockets/listener.h"
#include "wire/welcome.h"

namespace fray::door {

class HomeTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "fray-door-XXXXXX";
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    home_ = path;
    ::setenv("FRAY_HOME", home_.c_str(), 1);
    ::unsetenv("FRAY_NODE");
  }
  void TearDown() override {
    ::unsetenv("FRAY_HOME");
    ::unsetenv("FRAY_NODE");
    std::filesystem::remove_all(home_);
  }
  // What a node that lives in a folder leaves there, as long as the lock is held.
  os::Fd settle(const std::string& folder, bool announce = true) const {
    std::filesystem::create_directories(folder);
    os::Fd lock(::open((folder + kLockName).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    FRAY_CHECK(::flock(lock.get(), LOCK_EX | LOCK_NB) == 0, "the test's lock");
    if (announce) write(folder + kInfoName, R"({"pid": 1, "started_ticks": 1, "release": ")" FRAY_VERSION R"("})");
    return lock;
  }
  static void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  std::string socket_at(const std::string& folder) const {
    std::filesystem::create_directories(folder);
    return folder + kSocketName;
  }

  std::string home_;
};

class ScriptedNode {
 public:
  // `serve` has each connection, on a thread of its own; its end closes the connection.
  using Serve = std::function<void(wire::FrameSocket& client)>;

  ScriptedNode(const std::string& path, Serve serve)
      : listener_(os::Listener::listen(path).value()), thread_([this, serve = std::move(serve)] { run(serve); }) {}
  ~ScriptedNode() {
    ::shutdown(listener_.fd(), SHUT_RDWR);
    thread_.join();
  }

  static wire::Incoming read(wire::FrameSocket& client) { return next_frame(client, Patience::of(kLong)).value(); }
  // Reads the hello and answers it as a node does. A client that was interrupted may be gone before either.
  static void welcome(wire::FrameSocket& client) {
    const Result<wire::Incoming> hello = next_frame(client, Patience::of(kLong));
    if (!hello.is_ok()) return;
    FRAY_CHECK(static_cast<wire::ControlType>(hello.value().header.type) == wire::ControlType::kHello,
               "a hello is first");
    client.queue(wire::frame(wire::ControlType::kWelcome, 0, wire::Welcome{}));
    (void)client.flush();
  }
  // Until the client is gone.
  static void await_end(wire::FrameSocket& client) {
    while (next_frame(client, Patience::of(kLong)).is_ok()) {
    }
  }

 private:
  static constexpr std::chrono::seconds kLong{30};

  void run(const Serve& serve) {
    std::vector<std::thread> serving;
    while (true) {
      pollfd watched{listener_.fd(), POLLIN, 0};
      ::poll(&watched, 1, -1);
      os::Fd fd(::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!fd.is_open()) break;
      serving.emplace_back([&serve, client = wire::FrameSocket(std::move(fd))]() mutable { serve(client); });
    }
    for (std::thread& each : serving) each.join();
  }

  os::Listener listener_;
  std::thread thread_;
};

}  // namespace fray::door
