// FrameSocket: sends and receives frames, and descriptors beside them, over one non-blocking Unix stream socket.
//
//   socket.queue(frame(...));           // or with descriptors
//   socket.flush();                     // sends what the kernel takes; the rest waits for POLLOUT
//   socket.fill();                      // reads what is there
//   while (socket.next(&incoming)) ...  // whole frames
//
// Threading:  one thread at a time; the owner's lock, where there is one, is documented there.
// Ownership:  owns the socket and the received descriptors that nobody took; close() closes them all.
// Failure:    fill() and flush() return kUnavailable on EOF or a reset, kCorruption on a broken header. After either the
//             socket is dead and only close() makes sense. Descriptors nobody expected are closed with the frame.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "os/fd.h"
#include "wire/frame.h"

namespace fray::wire {

struct Incoming {
  FrameHeader header;
  std::string_view body;    // valid until the next call of fill()
  std::vector<os::Fd> fds;  // header.fds of them
};

class FrameSocket {
 public:
  FrameSocket() = default;
  explicit FrameSocket(os::Fd fd) : fd_(std::move(fd)) {}
  FrameSocket(FrameSocket&&) = default;
  FrameSocket& operator=(FrameSocket&&) = default;

  int fd() const { return fd_.get(); }
  bool is_open() const { return fd_.is_open(); }
  bool has_output() const { return sent_ < out_.size(); }
  std::size_t output_bytes() const { return out_.size() - sent_; }

  // Appends to the output; nothing is sent before flush().
  void queue(std::string_view frames);
  void queue(std::string_view frame, std::vector<os::Fd> fds);
  // Appends straight into the output buffer (direct sockets build frames in place).
  std::string& output() { return out_; }

  Status flush();

  // Reads until the kernel has no more, or about `limit` bytes. `*drained` says which of the two.
  Status fill(std::size_t limit = 1u << 20, bool* drained = nullptr);
  // The next whole frame, if there is one. kCorruption when its header is wrong.
  Result<bool> next(Incoming* incoming);
  // The body of the frame that next() returned last, for a reader who keeps it; `incoming` has no body afterwards. A
  // large body that is alone in the buffer is not copied: the buffer itself is given away.
  std::string take_body(Incoming& incoming);

  void close();
  // The same, and the peer sees the end at once. After close() alone it sees none while another thread of this process sleeps
  // in a poll() of the descriptor, which keeps the socket alive. Not in a child of fork(), whose parent has the socket too.
  void hang_up();

 private:
  struct Attachment {
    std::size_t offset = 0;  // of the frame's first byte in out_
    std::vector<os::Fd> fds;
  };

  void compact_output();
  void make_room_to_read();

  os::Fd fd_;
  std::string out_;
  std::size_t sent_ = 0;
  std::deque<Attachment> attachments_;
  std::string in_;
  std::size_t in_size_ = 0;
  bool reads_much_ = false;  // more at once than a small buffer takes
  std::size_t parsed_ = 0;
  std::deque<os::Fd> received_;
};

}  // namespace fray::wire
