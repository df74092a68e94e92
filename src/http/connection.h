// Connection: the connection of one HTTP client: reads requests, one at a time, and writes answers or streams.
//
//   reading ──▶ (head: the guard) ──▶ reading the body ──▶ handling ──▶ writing ──▶ reading
//                                                             └──────▶ streaming ──▶ closed
//
// Threading:  the loop's.
// Ownership:  owns its socket; the owner (Server) owns the connection. Handlers hold a Responder, which outlives it well.
// Failure:    a request that is wrong is answered and the connection closed; so is one that takes too long (kHeadLimit,
//             kBodyLimit), or does not take its answer (kWriteLimit). A slow client costs a descriptor and a few
//             kilobytes, never the node's time.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "event/loop.h"
#include "http/message.h"
#include "http/request_parser.h"
#include "os/fd.h"

namespace fray::http {

class Connection;

// What a client is sent bit by bit.
class Stream {
 public:
  // Where a stream sends to. finish() closes once everything was sent.
  struct Outlet {
    virtual ~Outlet() = default;
    virtual void send(std::string_view bytes) = 0;
    virtual void finish() = 0;
  };

  virtual ~Stream() = default;
  virtual void start(Outlet& outlet) = 0;
  // Everything sent so far is with the kernel; more may follow.
  virtual void drained() = 0;
  // The client has gone: the outlet must not be used any more.
  virtual void abandoned() = 0;
  // Bytes that came from the client meanwhile.
  virtual void received(std::string_view bytes) { (void)bytes; }
};

// The way back to a client, for handlers that answer later. Answering twice, or after the client has gone, does nothing.
class Responder {
 public:
  explicit Responder(std::weak_ptr<Connection> connection, std::uint64_t request)
      : connection_(std::move(connection)), request_(request) {}

  void respond(const Response& response) const;
  // Calls back when the client goes before it was answered, at once if it has gone already.
  void when_gone(std::function<void()> on_gone) const;
  // The head, then what the stream sends.
  void stream(const Response& head, std::shared_ptr<Stream> stream) const;

 private:
  std::weak_ptr<Connection> connection_;
  std::uint64_t request_;
};

class Connection : public std::enable_shared_from_this<Connection>, private Stream::Outlet {
 public:
  static constexpr std::chrono::seconds kHeadLimit{10};
  static constexpr std::chrono::seconds kIdleLimit{75};
  static constexpr std::chrono::seconds kBodyLimit{30};
  static constexpr std::chrono::seconds kWriteLimit{30};

  struct Owner {
    virtual ~Owner() = default;
    // The answer to give instead of reading on, if there is one.
    virtual std::optional<Response> refuse(const Request& request) = 0;
    // Whether a request that was not refused shows who sends it. Then the client is known from now on.
    virtual bool shows_who_asks(const Request& request) = 0;
    // What takes the body of an upload; null for others.
    virtual Result<std::shared_ptr<BodySink>> sink_of(const Request& request) = 0;
    virtual void handle(Request request, Responder responder) = 0;
    virtual void connection_ended(Connection& connection) = 0;
  };

  Connection(event::Loop& loop, Owner& owner, os::Fd socket);
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Status start();
  void end();
  // Whether it has ever sent a request that showed who asks, and that the guard let pass.
  bool is_known() const { return known_; }

 private:
  friend class Responder;
  enum class State { kReading, kHandling, kWriting, kStreaming, kEnded };

  void respond(std::uint64_t request, const Response& response);
  void when_gone(std::uint64_t request, std::function<void()> on_gone);
  void gone();
  void stream(std::uint64_t request, const Response& head, std::shared_ptr<Stream> stream);
  void send(std::string_view bytes) override;
  void finish() override;

  void ready(std::uint32_t events);
  void read();
  void parse();
  void head_arrived();
  bool drain();
  void refuse(const Response& response);
  void write();
  void written();
  void watch();
  void limit(std::chrono::nanoseconds time);

  event::Loop& loop_;
  Owner& owner_;
  os::Fd socket_;
  RequestParser parser_;
  State state_ = State::kReading;
  std::string in_;
  std::string out_;
  std::size_t sent_ = 0;
  std::shared_ptr<Stream> stream_;
  std::shared_ptr<BodySink> sink_;  // of the present request
  std::uint64_t request_ = 0;       // number of the present one
  std::function<void()> on_gone_;   // of the present one, until it was answered
  std::uint32_t watched_ = 0;
  event::TimerId timer_ = 0;
  bool parsing_ = false;
  bool writing_ = false;
  bool known_ = false;
  bool half_closed_ = false;  // the client will send nothing more
  bool close_after_ = false;  // what is in out_
};

}  // namespace fray::http
