#include "client/output/output_writer.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "os/process/start_thread.h"
#include "os/terminal_style.h"

namespace fray::client {

using namespace std::chrono_literals;

namespace {

constexpr auto kGlance = 20ms;            // how long the thread waits for a full pipe before it checks for other work
constexpr std::uint64_t kMostQueues = 4;  // a queue of so many times its limit drops lines at once
constexpr std::array<const char*, 2> kStreamNames{"standard output", "standard error"};

std::atomic<OutputWriter*> writer_of_process{nullptr};

std::uint64_t lines_of(std::string_view text) {
  return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

// The longest piece of whole lines that the kernel writes atomically; of a longer line a part.
std::size_t next_piece(std::string_view left) {
  if (left.size() <= PIPE_BUF) return left.size();
  std::size_t end = left.substr(0, PIPE_BUF).rfind('\n');
  return end == std::string_view::npos ? PIPE_BUF : end + 1;
}

// Descriptors that this program opens itself are close-on-exec, and standard streams are not. So a close-on-exec
// descriptor is not a standard stream, even if it has the number of a closed one.
bool is_standard_stream(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFD);
  return flags >= 0 && (flags & FD_CLOEXEC) == 0;
}

}  // namespace

OutputWriter& OutputWriter::of_process() {
  // A child of fork() has no such thread, and its parent writes the waiting lines. The child must not use the inherited
  // writer, whose lock another thread may have held.
  static const int registered = ::pthread_atfork(nullptr, nullptr, [] { writer_of_process = nullptr; });
  (void)registered;
  OutputWriter* known = writer_of_process.load();
  if (known != nullptr) return *known;
  auto* made = new OutputWriter(Settings{});
  if (writer_of_process.compare_exchange_strong(known, made)) return *made;
  delete made;
  return *known;
}

OutputWriter::~OutputWriter() {
  std::thread ended;
  {
    MutexLock lock(mutex_);
    ended = dismiss();
  }
  if (ended.joinable()) ended.join();
}

// ---- Lines that come in

void OutputWriter::start() {
  if (thread_.joinable()) return;
  // The thread blocks all signals, so a closed pipe is an error and not a signal. If no thread starts, the next line
  // tries again.
  auto started = os::start_thread([this, turn = ++turn_] { run(turn); });
  if (started.is_ok()) thread_ = std::move(started).value();
}

void OutputWriter::add(wire::Log log) {
  if (log.text.empty()) return;
  MutexLock lock(mutex_);
  start();
  const std::size_t index = log.stream == 1 ? 0 : 1;
  Stream& stream = streams_[index];
  const bool is_full = stream.bytes > settings_.queue_bytes;
  if (is_full && (is_stalled(stream, settings_.patience) || stream.bytes > kMostQueues * settings_.queue_bytes)) {
    stream.missing += lines_of(log.text);
    return;
  }
  tell_missing(index);
  push(index, std::move(log));
}

void OutputWriter::push(std::size_t index, wire::Log log) {
  Stream& stream = streams_[index];
  if (stream.is_idle()) stream.progress = Clock::now();
  stream.bytes += log.text.size();
  stream.queue.emplace_back(++arrivals_, std::move(log));
  changed_.notify_all();
}

// Writes a line of Fray itself, which has no task and no process.
void OutputWriter::say(std::size_t index, std::string line) {
  wire::Log log;
  log.text = "(fray) " + std::move(line) + "\n";
  push(index, std::move(log));
}

void OutputWriter::tell_missing(std::size_t index) {
  const std::uint64_t missing = std::exchange(streams_[index].missing, 0);
  if (missing == 0) return;
  say(index, fmt::format("{} lines that workers printed are missing here: nobody read this program's {} for {} s",
                         missing, kStreamNames[index], settings_.patience.count() / 1000));
}

bool OutputWriter::wants_less(bool waiting) const {
  MutexLock lock(mutex_);
  const std::uint64_t limit = waiting ? settings_.queue_bytes / 2 : settings_.queue_bytes;
  return std::any_of(streams_.begin(), streams_.end(), [&](const Stream& stream) FRAY_REQUIRES(mutex_) {
    return stream.bytes > limit && !is_stalled(stream, settings_.patience);
  });
}

bool OutputWriter::is_stalled(const Stream& stream, std::chrono::milliseconds patience) const {
  return !stream.is_idle() && Clock::now() - stream.progress > patience;
}

bool OutputWriter::is_idle() const {
  return std::all_of(streams_.begin(), streams_.end(), [](const Stream& stream) { return stream.is_idle(); });
}

// ---- Lines that go out

// Returns the thread, which ends when it sees that its turn is over. Another thread may begin meanwhile, with its own
// turn.
std::thread OutputWriter::dismiss() {
  ++turn_;
  changed_.notify_all();
  return std::move(thread_);
}

void OutputWriter::run(std::uint64_t turn) {
  MutexLock lock(mutex_);
  while (turn == turn_) {
    if (is_idle()) {
      changed_.wait_until(lock, Clock::now() + 1h);
    } else {
      write_some();
    }
  }
}

void OutputWriter::write_some() {
  std::array<pollfd, 2> set{};
  std::array<std::uint64_t, 2> order{};  // of the next line of each stream; 0: the rest of a line that was begun
  for (std::size_t index = 0; index < streams_.size(); ++index) {
    const Stream& stream = streams_[index];
    set[index] = {stream.is_idle() ? -1 : settings_.descriptors[index], POLLOUT, 0};
    if (!stream.begun && !stream.queue.empty()) order[index] = stream.queue.front().first;
  }
  mutex_.unlock();
  const int ready = ::poll(set.data(), set.size(), static_cast<int>(kGlance.count()));
  mutex_.lock();
  if (ready <= 0) return;
  std::size_t index = set[0].revents != 0 ? 0 : 1;
  if (set[0].revents != 0 && set[1].revents != 0 && order[1] < order[0]) index = 1;
  if (!is_standard_stream(set[index].fd)) return drop(index);  // the program has closed the stream
  if (!streams_[index].begun) begin(index);
  write_to(index);
}

void OutputWriter::begin(std::size_t index) {
  Stream& stream = streams_[index];
  if (stream.queue.empty()) return;  // the stream was given up meanwhile
  wire::Log log = std::move(stream.queue.front().second);
  stream.queue.pop_front();
  stream.bytes -= log.text.size();
  stream.begun = true;
  mutex_.unlock();
  in_hand_[index] = format(log, settings_.descriptors[index]);
  written_[index] = 0;
  mutex_.lock();
}

void OutputWriter::write_to(std::size_t index) {
  Stream& stream = streams_[index];
  if (!stream.begun) return;
  mutex_.unlock();
  const std::string_view left = std::string_view(in_hand_[index]).substr(written_[index]);
  const ssize_t written = ::write(settings_.descriptors[index], left.data(), next_piece(left));
  const int error = errno;
  if (written > 0) written_[index] += static_cast<std::size_t>(written);
  if (written < 0 && error == EAGAIN) ::poll(nullptr, 0, 1);  // the pipe has less room than poll() has reported
  mutex_.lock();
  if (written < 0) {
    if (error != EAGAIN && error != EINTR) give_up(index, std::strerror(error));
    return;
  }
  stream.progress = Clock::now();
  stream.lost = false;
  if (written_[index] >= in_hand_[index].size()) stream.begun = false;
  if (!stream.is_idle()) return;
  tell_missing(index);
  if (is_idle()) changed_.notify_all();
}

void OutputWriter::drop(std::size_t index) {
  Stream& stream = streams_[index];
  stream.queue.clear();
  stream.begun = false;
  stream.bytes = stream.missing = 0;
  changed_.notify_all();
}

// Drops the lines that wait for the stream. The other stream reports that, once until a line can be written again.
void OutputWriter::give_up(std::size_t index, const std::string& why) {
  drop(index);
  if (std::exchange(streams_[index].lost, true) || streams_[1 - index].lost) return;
  say(1 - index, fmt::format("what workers print to this program's {} is lost: {}", kStreamNames[index], why));
}

std::string OutputWriter::format(const wire::Log& log, int descriptor) const {
  if (log.pid == 0) return log.text;
  static const os::Surroundings environment = os::surroundings_of(descriptor);  // read once: not thread-safe
  os::Surroundings surroundings = environment;
  surroundings.is_terminal = ::isatty(descriptor) == 1;
  std::string prefix =
      log.task.empty() ? fmt::format("(pid={}) ", log.pid) : fmt::format("({} pid={}) ", log.task, log.pid);
  prefix = os::choose_style("auto", surroundings).of_process(prefix, log.pid);
  std::string out;
  std::string_view text = log.text;
  while (!text.empty()) {
    std::size_t end = text.find('\n');
    out += prefix;
    out += text.substr(0, end);
    out += '\n';
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

// ---- The end

void OutputWriter::finish(std::chrono::milliseconds patience, FunctionRef<bool()> goes_on) {
  std::thread ended;
  while (!ended.joinable()) {
    {
      MutexLock lock(mutex_);
      if (!is_idle()) changed_.wait_until(lock, Clock::now() + kGlance);
      if (!thread_.joinable()) return;
      if (is_idle()) ended = dismiss();
      for (std::size_t index = 0; index < streams_.size(); ++index) {
        Stream& stream = streams_[index];
        if (!is_stalled(stream, patience)) continue;
        stream.lost = false;  // reported again: these lines had been accepted
        give_up(index, fmt::format("nobody has read it for {} s", patience.count() / 1000));
      }
    }
    if (!ended.joinable() && !goes_on()) return;
  }
  ended.join();
}

}  // namespace fray::client
