// NodeLink: the control socket to the node, and the ordered stream of object records on it.
//
// Successive records of one kind (holds, releases, ...) are gathered into one frame. The order of records of different
// kinds is kept, because the node's counting relies on it. Call flush() before a frame with a ref is sent on another
// socket: the node has to know of the ref before a message of the ref's receiver names it.
//
// Threading:  guarded by Client's mutex.
// Ownership:  owns the socket.
// Failure:    after the node is gone everything queued is dropped and is_open() is false.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "wire/control.h"
#include "wire/object.h"
#include "wire/socket.h"

namespace fray::client {

class NodeLink {
 public:
  // What a thread leaves to others: frames that are to be sent, or nothing but answers that are to be read.
  enum class Left : std::uint8_t { kFrames, kAnswers };

  // `left`: see call_for_flush() and call_for_answers().
  explicit NodeLink(
      os::Fd fd, std::function<void(Left)> left = [](Left) {})
      : socket_(std::move(fd)), left_(std::move(left)) {}

  bool is_open() const { return socket_.is_open(); }
  int fd() const { return socket_.fd(); }
  wire::FrameSocket& socket() { return socket_; }
  bool has_output() const { return !batch_.ids.empty() || socket_.has_output(); }

  // `type` is kRegister, kHold, kRelease or kWant.
  void record(wire::ControlType type, ObjectId id);

  template <typename Message>
  void send(wire::ControlType type, std::uint64_t id, const Message& message) {
    end_batch();
    note_unsent();
    socket_.queue(wire::frame(type, id, message));
  }
  template <typename Message>
  void send(wire::ControlType type, const Message& message, os::Fd fd) {
    end_batch();
    note_unsent();
    std::vector<os::Fd> fds;
    fds.push_back(std::move(fd));
    socket_.queue(wire::frame(type, 0, message, 1), std::move(fds));
  }
  void send(wire::ControlType type, std::uint64_t id = 0) { send_frame(wire::frame(type, id)); }
  void send_frame(const std::string& frame) {
    end_batch();
    note_unsent();
    socket_.queue(frame);
  }

  // Notes that something is to be sent at the next flush, here or on another socket of the client. For any thread.
  void call_for_flush() { left_(Left::kFrames); }
  // Notes that all is sent, and that somebody is to read the answers.
  void call_for_answers() { left_(Left::kAnswers); }
  // Sends what the kernel takes. False when the node is gone.
  bool flush();
  void close() { socket_.close(); }

 private:
  void end_batch();
  void note_unsent() {
    if (!has_output()) call_for_flush();
  }

  wire::FrameSocket socket_;
  std::function<void(Left)> left_;
  wire::ControlType batch_type_ = wire::ControlType::kRegister;
  wire::ObjectIds batch_;
};

}  // namespace fray::client
