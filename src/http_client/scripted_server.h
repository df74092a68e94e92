// ScriptedServer: for tests: a server on a port of its own that does with each connection what the test says, however
// wrong that is. One connection at a time.
//
// Threading:  its own thread runs the script; requests() may be called by any.
// Ownership:  owns its sockets and its thread, and joins it.
// Failure:    aborts when the system gives no socket.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "http_client/endpoint.h"
#include "os/fd.h"

namespace fray::http_client {

class ScriptedServer {
 public:
  class Visit {
   public:
    explicit Visit(os::Fd fd, ScriptedServer& server) : fd_(std::move(fd)), server_(server) {}

    std::string line;  // "GET /api/version"
    std::string head;
    std::string body;

    // Reads one request; false when the other side is gone.
    bool read_request() {
      std::string bytes;
      std::size_t end;
      while ((end = bytes.find("\r\n\r\n")) == std::string::npos) {
        if (!more(bytes)) return false;
      }
      head = bytes.substr(0, end + 2);
      body = bytes.substr(end + 4);
      std::size_t length = 0;
      if (auto at = head.find("Content-Length: "); at != std::string::npos) length = std::stoul(head.substr(at + 16));
      while (body.size() < length) {
        if (!more(body)) return false;
      }
      line = head.substr(0, head.find(" HTTP/"));
      return true;
    }
    void send(std::string_view bytes) {
      while (!bytes.empty()) {
        const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) return;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
      }
    }
    void answer(int status, const std::string& text) {
      send("HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Type: application/json\r\nContent-Length: " +
           std::to_string(text.size()) + "\r\n\r\n" + text);
    }
    // The next `count` bytes; fewer when the other side is gone.
    std::string receive(std::size_t count) {
      std::string bytes;
      while (bytes.size() < count && more(bytes)) {
      }
      return bytes;
    }
    // Until the other side closes, or the server ends.
    void hang() {
      while (!server_.ended_) {
        pollfd watched{fd_.get(), POLLIN, 0};
        char byte;
        if (::poll(&watched, 1, 10) > 0 && ::recv(fd_.get(), &byte, 1, 0) <= 0) return;
      }
    }
    void close() { fd_.reset(); }

   private:
    bool more(std::string& bytes) {
      while (!server_.ended_) {
        pollfd watched{fd_.get(), POLLIN, 0};
        if (::poll(&watched, 1, 10) <= 0) continue;
        char chunk[65536];
        const ssize_t got = ::recv(fd_.get(), chunk, sizeof(chunk), 0);
        if (got <= 0) return false;
        bytes.append(chunk, static_cast<std::size_t>(got));
        return true;
      }
      return false;
    }

    os::Fd fd_;
    ScriptedServer& server_;
  };

  // Called with each connection's first request, which was read.
  using Script = std::function<void(Visit&)>;

  explicit ScriptedServer(Script script) : script_(std::move(script)) {
    listener_ = os::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(name);
    FRAY_CHECK(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&name), size) == 0 &&
                   ::listen(listener_.get(), 16) == 0 &&
                   ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&name), &size) == 0,
               "the test's server needs a port");
    port_ = ntohs(name.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  ~ScriptedServer() {
    ended_ = true;
    thread_.join();
  }

  Endpoint endpoint() const {
    Endpoint made;
    made.address = {false, "127.0.0.1", std::to_string(port_), ""};
    made.connect_limit = made.answer_limit = std::chrono::seconds(20);
    return made;
  }
  // The lines of all requests so far.
  std::vector<std::string> requests() {
    std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void run() {
    while (!ended_) {
      pollfd watched{listener_.get(), POLLIN, 0};
      if (::poll(&watched, 1, 10) <= 0) continue;
      Visit visit(os::Fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)), *this);
      if (!visit.read_request()) continue;
      {
        std::lock_guard lock(mutex_);
        requests_.push_back(visit.line);
      }
      script_(visit);
    }
  }

  Script script_;
  os::Fd listener_;
  int port_ = 0;
  std::atomic<bool> ended_ = false;
  std::mutex mutex_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

}  // namespace fray::http_client
