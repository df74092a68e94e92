// Spans: the way out of this process for spans of OpenTelemetry. Span: one of them, for a call that is sent, a wait, or
// a call that runs.
//
//   Span span;
//   span.begin(session.spans.get(), {"submit", "train", Span::Kind::kProducer}, current_trace());
//   span.context();                       // sent with the call
//   span.fail("fray::Error", "no room");  // if the call fails
//
// These processes need no SDK of OpenTelemetry: a span that ends is written as a line of JSON into a pipe in the
// session's folder, whose name is in FRAY_SPANS. The process at the other end exports it: the traced Python program, or
// the process that a C++ program has started beside itself (capi/span_exporter.h); both read with fray._cpp_spans.
//
// Threading:  Spans: any thread. Span: one thread.
// Ownership:  a session owns its Spans; a Span refers to them, and must end first.
// Failure:    a process without a pipe makes no spans, and passes on the trace context that it was given. Spans are
//             lost while the pipe is full; the next span that is written says how many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "model/ids.h"
#include "os/fd.h"

namespace fray::capi {

inline constexpr const char* kSpansVariable = "FRAY_SPANS";

class Spans {
 public:
  // A call that was sent: the span of a wait for its result has its name, and a link to its context.
  struct Sent {
    std::string name;
    std::string context;
  };

  // `folder`: of the session. `name`: of the pipe. `begins_traces`: whether spans without a parent begin a trace, as
  // those of a program do; otherwise they are not made.
  Spans(const std::string& folder, const std::string& name, bool begins_traces);

  // Makes the pipe if it does not exist. False if it cannot be made.
  bool make_pipe();
  // Opens the pipe if it exists by now; returns whether it is open.
  bool is_open() FRAY_EXCLUDES(mutex_);
  bool begins_traces() const { return begins_traces_; }
  const std::string& path() const { return path_; }
  // Requires: `line` is a JSON object without a newline at its end.
  void write(std::string line) FRAY_EXCLUDES(mutex_);

  void note(const ObjectId& result, Sent sent) FRAY_EXCLUDES(mutex_);
  std::optional<Sent> find(const ObjectId& result) FRAY_EXCLUDES(mutex_);

 private:
  const std::string path_;
  const bool begins_traces_;
  Mutex mutex_;
  os::Fd pipe_ FRAY_GUARDED_BY(mutex_);
  std::uint64_t lost_ FRAY_GUARDED_BY(mutex_) = 0;  // spans lost since the last line that was written
  std::unordered_map<ObjectId, Sent> sent_ FRAY_GUARDED_BY(mutex_);
  std::deque<ObjectId> sent_order_ FRAY_GUARDED_BY(mutex_);
};

class Span {
 public:
  enum class Kind : std::uint8_t { kProducer, kConsumer, kInternal };
  friend constexpr Kind last_of(Kind) { return Kind::kInternal; }
  struct What {
    std::string_view verb;  // "submit", "call", "create", "run", "get" or "wait"
    std::string_view name;
    Kind kind = Kind::kInternal;
  };

  Span() = default;
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;
  ~Span() {
    if (record_) [[unlikely]]
      end();
  }

  // `spans`: null if this process is not traced. `parent`: a W3C traceparent, or empty.
  void begin(Spans* spans, const What& what, std::string_view parent) {
    if (spans != nullptr) [[unlikely]]
      begin_traced(*spans, what, parent);
  }
  bool has_begun() const { return record_ != nullptr; }
  // The W3C traceparent of this span; empty if the span has not begun.
  std::string_view context() const;
  void set(std::string_view attribute, std::string value);
  void set(std::string_view attribute, std::uint64_t value);
  void link(const std::string& context);
  void fail(std::string_view type, std::string_view text);
  void end();

 private:
  struct Record;
  struct Erase {
    void operator()(Record* record) const;
  };

  void begin_traced(Spans& spans, const What& what, std::string_view parent);

  std::unique_ptr<Record, Erase> record_;
};

}  // namespace fray::capi
