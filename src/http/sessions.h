// Sessions: who has logged in with a browser, and the links that log them in.
//
//   std::string code = sessions.make_code(false, "jobs", now).value();  // for a link; it works once, within kCodeLimit
//   Result<Login> login = sessions.log_in(code, now);  // {"fray_40113=...; Path=/; HttpOnly; SameSite=Strict", "jobs"}
//   sessions.visit(request.header("cookie")).session;                // whether the request is of somebody who has
//
// The cookie's name has the port, because a browser sends the cookies of a host to all of its ports: two nodes would
// replace each other's.
//
// Threading:  the loop's.
// Ownership:  values; sessions end with the node.
// Failure:    a code that was used, is too old or was never made logs nobody in. Beyond kMostCodes and kMostSessions the
//             oldest goes.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fray::http {

class Sessions {
 public:
  using Moment = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds kCodeLimit{300};
  static constexpr std::size_t kMostCodes = 32;
  static constexpr std::size_t kMostSessions = 64;

  struct Session {
    std::string secret;
    bool framed = false;  // in a page of this machine, such as a notebook
  };
  struct Login {
    std::string cookie;  // what Set-Cookie is to say
    std::string view;    // of the page that the link leads to; empty: the first
  };
  struct Visit {
    bool has_cookie = false;
    const Session* session = nullptr;  // null: there is none, or it is over
  };

  void set_port(std::uint16_t port) { port_ = port; }
  std::uint16_t port() const { return port_; }

  Result<std::string> make_code(bool framed, std::string view, Moment now);
  Result<Login> log_in(std::string_view code, Moment now);
  // `cookies`: the header.
  Visit visit(std::string_view cookies) const;

 private:
  struct Code {
    std::string secret;
    bool framed = false;
    std::string view;
    Moment until;
  };

  std::string cookie_name() const { return "fray_" + std::to_string(port_); }

  std::uint16_t port_ = 0;
  std::deque<Code> codes_;
  std::deque<Session> sessions_;
};

// In a time that depends on their lengths alone.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace fray::http
