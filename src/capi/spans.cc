#include "capi/spans.h"

#include <algorithm>
#include <cerrno>
#include <climits>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "capi/trace_context.h"
#include "model/json_text.h"
#include "os/clock.h"

namespace fray::capi {

namespace {

constexpr std::size_t kMostSent = 10'000;  // calls whose names are remembered for later waits
constexpr std::size_t kMostSpanNameBytes = 120;
constexpr std::size_t kMostErrorBytes = 300;  // JSON escapes may make it six times as long
constexpr std::size_t kMostSpanLinks = 20;
constexpr int kPipeBytes = 1 << 20;               // the most that the kernel grants a process without privileges
constexpr std::size_t kMostLineBytes = PIPE_BUF;  // the kernel may mix longer lines of several writers

std::uint64_t random_id() {
  std::uint64_t id = 0;
  while (id == 0) {
    if (::getrandom(&id, sizeof(id), 0) != sizeof(id)) id = 0;
  }
  return id;
}

const char* kind_text(Span::Kind kind) {
  switch (kind) {
    case Span::Kind::kProducer:
      return "producer";
    case Span::Kind::kConsumer:
      return "consumer";
    case Span::Kind::kInternal:
      break;
  }
  return "internal";
}

}  // namespace

// ---- Spans ----

Spans::Spans(const std::string& folder, const std::string& name, bool begins_traces)
    : path_(folder + "/spans-" + name), begins_traces_(begins_traces) {}

bool Spans::make_pipe() {
  if (::mkfifo(path_.c_str(), S_IRUSR | S_IWUSR) != 0 && errno != EEXIST) return false;
  if (!is_open()) return false;
  MutexLock lock(mutex_);
  (void)::fcntl(pipe_.get(), F_SETPIPE_SZ, kPipeBytes);  // best effort: a smaller pipe loses spans earlier
  return true;
}

// Opens the pipe for reading as well: otherwise a write to a pipe without a reader would raise SIGPIPE.
bool Spans::is_open() {
  MutexLock lock(mutex_);
  if (pipe_.is_open()) return true;
  os::Fd opened(::open(path_.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  struct stat found {};
  if (!opened.is_open() || ::fstat(opened.get(), &found) != 0 || !S_ISFIFO(found.st_mode)) return false;
  pipe_ = std::move(opened);
  return true;
}

void Spans::write(std::string line) {
  MutexLock lock(mutex_);
  if (lost_ > 0) line.insert(line.size() - 1, fmt::format(R"(,"lost":{})", lost_));
  line += '\n';
  const bool written = line.size() <= kMostLineBytes &&
                       ::write(pipe_.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size());
  lost_ = written ? 0 : lost_ + 1;
}

void Spans::note(const ObjectId& result, Sent sent) {
  MutexLock lock(mutex_);
  if (!sent_.insert_or_assign(result, std::move(sent)).second) return;
  sent_order_.push_back(result);
  if (sent_order_.size() <= kMostSent) return;
  sent_.erase(sent_order_.front());
  sent_order_.pop_front();
}

std::optional<Spans::Sent> Spans::find(const ObjectId& result) {
  MutexLock lock(mutex_);
  auto found = sent_.find(result);
  return found == sent_.end() ? std::nullopt : std::optional(found->second);
}

// ---- Span ----

struct Span::Record {
  Spans& spans;
  std::string context;
  std::int64_t began_unix_ns = 0;
  std::uint64_t began_ns = 0;
  nlohmann::json line;
};

void Span::Erase::operator()(Record* record) const { delete record; }

void Span::begin_traced(Spans& spans, const What& what, std::string_view parent) {
  if (!is_traceparent(parent)) {
    if (!spans.begins_traces()) return;
    parent = {};
  }
  if (!parent.empty() && !is_sampled(parent)) return;
  if (!spans.is_open()) return;
  std::string trace(parent.empty() ? fmt::format("{:016x}{:016x}", random_id(), random_id())
                                   : std::string(trace_id_of(parent)));
  std::string context = fmt::format("00-{}-{:016x}-01", trace, random_id());
  const std::string_view name = what.name.substr(0, kMostSpanNameBytes);
  nlohmann::json attributes = {{"process.pid", ::getpid()}};
  if (what.kind == Kind::kInternal) {
    attributes["fray.operation"] = what.verb;
  } else {
    attributes["messaging.system"] = "fray";
    attributes["messaging.operation.name"] = what.verb;
    attributes["messaging.operation.type"] = what.kind == Kind::kConsumer ? "process" : "send";
    attributes["messaging.destination.name"] = name;
  }
  nlohmann::json line = {{"name", fmt::format("{} {}", what.verb, name)},
                         {"kind", kind_text(what.kind)},
                         {"context", context},
                         {"parent", parent},
                         {"attributes", std::move(attributes)},
                         {"links", nlohmann::json::array()},
                         {"error", nullptr}};
  record_.reset(new Record{spans, std::move(context), os::unix_ns(), os::monotonic_ns(), std::move(line)});
}

std::string_view Span::context() const { return record_ ? std::string_view(record_->context) : std::string_view(); }

void Span::set(std::string_view attribute, std::string value) {
  if (record_) record_->line["attributes"][std::string(attribute)] = std::move(value);
}

void Span::set(std::string_view attribute, std::uint64_t value) {
  if (record_) record_->line["attributes"][std::string(attribute)] = value;
}

void Span::link(const std::string& context) {
  if (!record_ || record_->line["links"].size() >= kMostSpanLinks) return;
  record_->line["links"].push_back(context);
}

void Span::fail(std::string_view type, std::string_view text) {
  if (record_) record_->line["error"] = {type.substr(0, kMostSpanNameBytes), text.substr(0, kMostErrorBytes)};
}

void Span::end() {
  if (!record_) return;
  const auto lasted = static_cast<std::int64_t>(os::monotonic_ns() - record_->began_ns);
  record_->line["began"] = record_->began_unix_ns;
  record_->line["ended"] = record_->began_unix_ns + lasted;
  record_->spans.write(json_text(record_->line));
  record_.reset();
}

}  // namespace fray::capi
