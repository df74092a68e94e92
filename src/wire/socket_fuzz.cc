// Any bytes through a socket into the frame splitter: whole frames or a refusal, never a crash.
#include <cstddef>
#include <cstdint>

#include <sys/socket.h>

#include "wire/socket.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  int ends[2];
  if (size > 100'000 || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) return 0;
  fray::os::Fd writer(ends[0]);
  fray::wire::FrameSocket reader{fray::os::Fd(ends[1])};
  if (::send(writer.get(), data, size, MSG_NOSIGNAL) < 0) return 0;
  if (!reader.fill().is_ok()) return 0;
  fray::wire::Incoming incoming;
  while (true) {
    auto more = reader.next(&incoming);
    if (!more.is_ok() || !more.value()) break;
  }
  return 0;
}
