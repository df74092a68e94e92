#include "wire/socket.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/socket.h>
#include <sys/uio.h>

#include "base/fault.h"

namespace fray::wire {

namespace {

constexpr std::size_t kFirstReadChunk = 4u << 10;  // a process may have a thousand sockets on which little arrives
constexpr std::size_t kReadChunk = 64u << 10;
constexpr std::size_t kFdsPerRead = 64;
constexpr std::size_t kKeptBuffer = 1u << 20;  // more than that is given back when it is not needed any more

Status peer_gone(int error) {
  if (error == 0 || error == ECONNRESET || error == EPIPE) {
    return Status(StatusCode::kUnavailable, "the other side closed the connection");
  }
  return Status::io_error("socket", error);
}

}  // namespace

void FrameSocket::queue(std::string_view frames) { out_.append(frames); }

void FrameSocket::queue(std::string_view frame, std::vector<os::Fd> fds) {
  attachments_.push_back({out_.size(), std::move(fds)});
  out_.append(frame);
}

Status FrameSocket::flush() {
  while (sent_ < out_.size()) {
    // Descriptors go out with the first byte of their frame, so a send ends where the next attachment begins.
    std::size_t end = out_.size();
    Attachment* attached = nullptr;
    if (!attachments_.empty()) {
      if (attachments_.front().offset == sent_) {
        attached = &attachments_.front();
        if (attachments_.size() > 1) end = attachments_[1].offset;
      } else {
        end = attachments_.front().offset;
      }
    }
    const bool cut_short = FRAY_FAULT("send.short", 0);
    if (cut_short) end = std::min(end, sent_ + 3);
    ssize_t written = 0;
    if (attached == nullptr) {
      written = ::send(fd_.get(), out_.data() + sent_, end - sent_, MSG_DONTWAIT | MSG_NOSIGNAL);
    } else {
      iovec part{out_.data() + sent_, end - sent_};
      alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxFdsPerFrame)] = {};
      msghdr message{};
      message.msg_iov = &part;
      message.msg_iovlen = 1;
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(sizeof(int) * attached->fds.size());
      cmsghdr* head = CMSG_FIRSTHDR(&message);
      head->cmsg_level = SOL_SOCKET;
      head->cmsg_type = SCM_RIGHTS;
      head->cmsg_len = CMSG_LEN(sizeof(int) * attached->fds.size());
      for (std::size_t i = 0; i < attached->fds.size(); ++i) {
        int fd = attached->fds[i].get();
        std::memcpy(CMSG_DATA(head) + i * sizeof(int), &fd, sizeof(int));
      }
      written = ::sendmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    if (written < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) break;
      return peer_gone(errno);
    }
    if (attached != nullptr) attachments_.pop_front();
    sent_ += static_cast<std::size_t>(written);
    if (cut_short) break;
  }
  compact_output();
  return Status::ok();
}

void FrameSocket::compact_output() {
  if (sent_ == out_.size()) {
    out_.clear();
    sent_ = 0;
    if (out_.capacity() > kKeptBuffer) out_.shrink_to_fit();
  } else if (sent_ > kKeptBuffer && sent_ > out_.size() / 2) {  // what moves is less than what was sent
    out_.erase(0, sent_);
    for (Attachment& attachment : attachments_) attachment.offset -= sent_;
    sent_ = 0;
  }
}

// Memory for the whole of a large frame is taken at once: a string that grows by factors could take twice as much.
void FrameSocket::make_room_to_read() {
  const std::size_t chunk = reads_much_ ? kReadChunk : kFirstReadChunk;
  if (in_.size() >= in_size_ + chunk) return;
  if (in_size_ >= sizeof(FrameHeader)) {
    FrameHeader header;
    std::memcpy(&header, in_.data(), sizeof(header));
    const std::size_t whole = sizeof(header) + header.length + kReadChunk;
    if (in_size_ > kKeptBuffer && validate(header).is_ok() && whole > in_.capacity()) in_.reserve(whole);
  }
  in_.resize(in_size_ + chunk);
}

Status FrameSocket::fill(std::size_t limit, bool* drained) {
  if (drained != nullptr) *drained = false;
  if (parsed_ > 0) {
    std::memmove(in_.data(), in_.data() + parsed_, in_size_ - parsed_);
    in_size_ -= parsed_;
    parsed_ = 0;
    if (in_.size() > kKeptBuffer && in_size_ < kKeptBuffer) {  // a large frame was here
      in_.resize(in_size_);
      in_.shrink_to_fit();
    }
  }
  std::size_t total = 0;
  while (total < limit) {
    make_room_to_read();
    iovec part{in_.data() + in_size_, in_.size() - in_size_};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kFdsPerRead)];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    ssize_t got = ::recvmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) {
        if (drained != nullptr) *drained = true;
        return Status::ok();
      }
      return peer_gone(errno);
    }
    const std::size_t received_before = received_.size();
    for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr; head = CMSG_NXTHDR(&message, head)) {
      if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
      std::size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t i = 0; i < count; ++i) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(head) + i * sizeof(int), sizeof(int));
        received_.emplace_back(fd);
      }
    }
    // This process has no descriptor left, and the kernel has dropped the one that came. A closed Fd stands in its
    // place, so that the reader of the frame notices, and later descriptors stay with their frames. One read brings the
    // descriptors of one frame at most; a frame with several is refused when some are missing.
    if ((message.msg_flags & MSG_CTRUNC) != 0 && received_.size() == received_before) received_.emplace_back();
    if (got == 0) return peer_gone(0);
    in_size_ += static_cast<std::size_t>(got);
    total += static_cast<std::size_t>(got);
    // A short read means that the kernel's queue was empty a moment ago; the next poll tells of further bytes. A second
    // read, which would mostly return EAGAIN, would cost a system call for each message.
    const bool all = static_cast<std::size_t>(got) < part.iov_len;
    if (drained == nullptr && all) return Status::ok();
    reads_much_ = reads_much_ || !all;
  }
  return Status::ok();
}

Result<bool> FrameSocket::next(Incoming* incoming) {
  incoming->fds.clear();
  if (in_size_ - parsed_ < sizeof(FrameHeader)) return false;
  std::memcpy(&incoming->header, in_.data() + parsed_, sizeof(FrameHeader));
  FRAY_RETURN_IF_ERROR(validate(incoming->header));
  std::size_t whole = sizeof(FrameHeader) + incoming->header.length;
  if (in_size_ - parsed_ < whole) return false;
  if (received_.size() < incoming->header.fds) {
    return Status(StatusCode::kCorruption, "a frame promised more descriptors than came with it");
  }
  for (int i = 0; i < incoming->header.fds; ++i) {
    incoming->fds.push_back(std::move(received_.front()));
    received_.pop_front();
  }
  if (incoming->header.fds == 0 && whole == in_size_ - parsed_) received_.clear();  // no frame has announced these
  incoming->body = std::string_view(in_.data() + parsed_ + sizeof(FrameHeader), incoming->header.length);
  parsed_ += whole;
  return true;
}

std::string FrameSocket::take_body(Incoming& incoming) {
  const bool alone = parsed_ == in_size_ && parsed_ == sizeof(FrameHeader) + incoming.body.size();
  if (!alone || incoming.body.size() < kKeptBuffer) return std::string(std::exchange(incoming.body, {}));
  in_.resize(in_size_);
  in_.erase(0, sizeof(FrameHeader));
  incoming.body = {};
  in_size_ = parsed_ = 0;
  return std::exchange(in_, {});
}

void FrameSocket::hang_up() {
  if (fd_.is_open()) ::shutdown(fd_.get(), SHUT_RDWR);
  close();
}

void FrameSocket::close() {
  fd_.reset();
  attachments_.clear();
  received_.clear();
  out_.clear();
  sent_ = 0;
}

}  // namespace fray::wire
