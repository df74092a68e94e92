// Spans: where the spans of OpenTelemetry go that this process makes, and Span: one of them: a call that is sent, a wait, or a
// call that runs.
//
//   Span span;
//   span.begin(session.spans.get(), {"submit", "train", Span::Kind::kProducer}, current_trace());
//   span.context();                       // goes along with the call
//   span.fail("fray::Error", "no room");  // in place of a good end
//
// C++ has no SDK of OpenTelemetry here, and needs none. A span that has ended is a line of JSON in a pipe in the session's
// folder, whose name is FRAY_SPANS. At its other end is who exports: the Python program that is traced, or the process that a
// C++ program has started beside itself (capi/span_exporter.h); fray._cpp_spans reads the lines in both.
//
// Threading:  Spans: any thread. Span: one thread.
// Ownership:  a session owns its Spans; a Span refers to them, and must end before.
// Failure:    a process without a pipe makes no spans, and passes on the context that it was given. Spans that find no
//             room in the pipe are lost, and the next one that does says how many.
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
  // A call that was sent: what waits for its result names and links.
  struct Sent {
    std::string name;
    std::string context;
  };

  // The pipe of that name in the session's folder. `begins_traces`: what has no parent is the root of a trace.
  Spans(const std::string& folder, const std::string& name, bool begins_traces);

  // Makes the pipe, unless it is there. False: it cannot be made.
  bool make_pipe();
  // Whether there is a pipe by now.
  bool is_open() FRAY_EXCLUDES(mutex_);
  bool begins_traces() const { return begins_traces_; }
  const std::string& path() const { return path_; }
  // `line` has no end of line yet, and ends with '}'.
  void write(std::string line) FRAY_EXCLUDES(mutex_);

  void note(const ObjectId& result, Sent sent) FRAY_EXCLUDES(mutex_);
  std::optional<Sent> find(const ObjectId& result) FRAY_EXCLUDES(mutex_);

 private:
  const std::string path_;
  const bool begins_traces_;
  Mutex mutex_;
  os::Fd pipe_ FRAY_GUARDED_BY(mutex_);
  std::uint64_t lost_ FRAY_GUARDED_BY(mutex_) = 0;  // since the last line
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

  // `spans` null: the process is not traced. `parent`: a traceparent, or empty.
  void begin(Spans* spans, const What& what, std::string_view parent) {
    if (spans != nullptr) [[unlikely]]
      begin_traced(*spans, what, parent);
  }
  bool has_begun() const { return record_ != nullptr; }
  // A W3C traceparent of this span; empty where there is none.
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
