// OutputWriter: writes what workers print to this program's standard output and error, each line with the task and the
// process it came from: "(name pid=123) text".
//
//   OutputWriter& output = OutputWriter::of_process();
//   output.add(std::move(log));
//   output.finish(patience, goes_on);   // at the end
//
// Lines wait in memory for a thread that does nothing else, so that whoever waits for results never waits for whoever
// reads the output. The thread writes whole lines, in the order in which they came, at most PIPE_BUF bytes at a time: the
// kernel then cuts no line in two, and no write blocks after poll() has said that there is room. On a terminal the prefix has
// the worker's colour (see os/terminal_style.h).
//
// Threading:  any thread; add() and wants_less() never block. One writer a process; a forked child begins with its own.
// Ownership:  borrows the descriptors. The writer of the process lives as long as the process.
// Failure:    while more than `queue_bytes` of a stream wait, wants_less() asks that workers wait in `print`. A stream of
//             which nothing was read for `patience` loses what comes then; a line in its place says how many lines it was.
//             Lines for a stream that cannot be written, for example because its reader is gone, are lost, and a line on
//             the other stream says so. Lines for a stream that this program has closed are dropped.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <thread>

#include "base/function_ref.h"
#include "base/mutex.h"
#include "wire/process.h"

namespace fray::client {

class OutputWriter {
 public:
  struct Settings {
    std::array<int, 2> descriptors{1, 2};
    std::uint64_t queue_bytes = 8u << 20;  // of one stream
    std::chrono::milliseconds patience{10'000};
  };

  // The one of this process, for descriptors 1 and 2.
  static OutputWriter& of_process();

  explicit OutputWriter(const Settings& settings) : settings_(settings) {}
  ~OutputWriter();  // drops the lines that wait
  OutputWriter(const OutputWriter&) = delete;
  OutputWriter& operator=(const OutputWriter&) = delete;

  void add(wire::Log log);
  // Whether workers are to wait with their output. `waiting` is the last answer: they go on when half of the queue is written.
  bool wants_less(bool waiting) const;
  // Waits until everything is written, as long as somebody reads: a stream of which nothing was read for `patience` is
  // given up, which a line on the other one says. `goes_on` is asked every few milliseconds. The thread ends after the last
  // line; the next line starts it again.
  void finish(std::chrono::milliseconds patience, FunctionRef<bool()> goes_on);

 private:
  using Clock = std::chrono::steady_clock;

  struct Stream {
    std::deque<std::pair<std::uint64_t, wire::Log>> queue;  // by order of arrival over both streams
    std::uint64_t bytes = 0;                                // in the queue
    bool begun = false;                                     // the thread is writing lines of this stream
    std::uint64_t missing = 0;                              // lines that were dropped and are not reported yet
    bool lost = false;                                      // it could not be written, and that was reported
    Clock::time_point progress{};                           // when something was last written, or began to wait

    bool is_idle() const { return queue.empty() && !begun; }
  };

  void run(std::uint64_t turn) FRAY_EXCLUDES(mutex_);
  std::thread dismiss() FRAY_REQUIRES(mutex_);  // to be joined without the mutex
  void start() FRAY_REQUIRES(mutex_);
  void push(std::size_t index, wire::Log log) FRAY_REQUIRES(mutex_);
  void say(std::size_t index, std::string line) FRAY_REQUIRES(mutex_);
  void tell_missing(std::size_t index) FRAY_REQUIRES(mutex_);
  void drop(std::size_t index) FRAY_REQUIRES(mutex_);
  void give_up(std::size_t index, const std::string& why) FRAY_REQUIRES(mutex_);
  bool is_stalled(const Stream& stream, std::chrono::milliseconds patience) const FRAY_REQUIRES(mutex_);
  bool is_idle() const FRAY_REQUIRES(mutex_);
  // What the thread does; these release the mutex meanwhile.
  void write_some() FRAY_REQUIRES(mutex_);
  void begin(std::size_t index) FRAY_REQUIRES(mutex_);
  void write_to(std::size_t index) FRAY_REQUIRES(mutex_);
  std::string format(const wire::Log& log, int descriptor) const;

  const Settings settings_;
  mutable Mutex mutex_;
  Condition changed_;
  std::array<Stream, 2> streams_ FRAY_GUARDED_BY(mutex_);
  std::uint64_t arrivals_ FRAY_GUARDED_BY(mutex_) = 0;
  std::uint64_t turn_ FRAY_GUARDED_BY(mutex_) = 0;  // of the present thread; a thread with another number ends
  std::array<std::string, 2> in_hand_;              // the thread's: the lines that it is writing to each stream
  std::array<std::size_t, 2> written_{};            // the thread's: how much of them
  std::thread thread_;
};

}  // namespace fray::client
