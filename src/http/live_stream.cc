#include "http/live_stream.h"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/json_text.h"

namespace fray::http {

namespace {

using nlohmann::json;

constexpr double kFirstSeconds = 60;     // how far the first event about tasks reaches back
constexpr std::size_t kMostRows = 4000;  // of one event
constexpr std::size_t kFirstLines = 200;

std::string text_event(const char* name, const std::string& data) {
  return fmt::format("event: {}\ndata: {}\n\n", name, data);
}

std::string live_event(const char* name, const json& data) { return text_event(name, json_text(data)); }

}  // namespace

LiveStream::LiveStream(node::DashboardView& dashboard, Topics topics, std::optional<std::uint64_t> tasks_after,
                       std::shared_ptr<std::size_t> open)
    : dashboard_(dashboard), topics_(topics), tasks_after_(tasks_after), open_(std::move(open)) {
  ++*open_;
}

LiveStream::~LiveStream() {
  if (look_ != 0) dashboard_.leave(look_);
  --*open_;
}

void LiveStream::start(Outlet& outlet) {
  outlet_ = &outlet;
  const auto self = shared_from_this();
  send(hello());
  if (outlet_ == nullptr) return;
  look_ = dashboard_.look([this] { tick(); });
  tick();
}

void LiveStream::abandoned() {
  outlet_ = nullptr;
  if (look_ != 0) dashboard_.leave(std::exchange(look_, 0));
}

void LiveStream::tick() {
  if (outlet_ == nullptr || busy_) return;
  const auto self = shared_from_this();
  std::string events;
  if (topics_.now) events += text_event("now", dashboard_.now_text());
  if (topics_.tasks) events += tasks_event();
  if (topics_.log) events += log_event();
  if (events.empty() && ++silent_ticks_ < kSignOfLifeTicks) return;
  silent_ticks_ = 0;
  send(events.empty() ? ": \n\n" : events);
}

// drained() may be called while `events` are sent.
void LiveStream::send(const std::string& events) {
  busy_ = true;
  outlet_->send(events);
}

std::string LiveStream::hello() { return live_event("hello", dashboard_.session()); }

std::string LiveStream::tasks_event() {
  const bool is_first = !tasks_after_;
  if (is_first) tasks_after_ = dashboard_.tasks_since(kFirstSeconds);
  json data = dashboard_.tasks(*tasks_after_, kMostRows);
  if (is_first) data["left_out"] = 0;  // runs before the first event do not count as missing
  const bool runs = !data["running"].empty();
  const bool is_news = is_first || runs || was_running_ || !data["rows"].empty() || data["left_out"] != 0;
  tasks_after_ = data["next"].get<std::uint64_t>();
  was_running_ = runs;
  if (!is_news) return "";
  keep_new(data["functions"], functions_);
  keep_new(data["workers"], workers_);
  return fmt::format("id: {}\n", *tasks_after_) + live_event("tasks", data);
}

// Keeps the rows whose numbers the reader does not know; a row is a number and its meaning.
void LiveStream::keep_new(json& rows, std::set<std::uint32_t>& known) {
  json fresh = json::array();
  for (json& row : rows) {
    if (known.insert(row[0].get<std::uint32_t>()).second) fresh.push_back(std::move(row));
  }
  rows = std::move(fresh);
}

std::string LiveStream::log_event() {
  json data;
  if (log_end_) {
    data = dashboard_.log_after(&*log_end_);
    if (data["lines"].empty()) return "";
  } else {
    data = dashboard_.log(kFirstLines, &log_end_.emplace());
  }
  return live_event("log", data);
}

}  // namespace fray::http
