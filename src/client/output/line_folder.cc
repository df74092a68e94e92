#include "client/output/line_folder.h"

#include <utility>

#include <fmt/format.h>

namespace fray::client {

namespace {

std::string key_of(const wire::Log& log, std::string_view line) {
  std::string key(1, static_cast<char>(log.stream));
  key += line;
  return key;
}

}  // namespace

wire::Log LineFolder::pass(wire::Log log, Moment now) {
  std::string shown;
  std::string_view text = log.text;
  while (!text.empty()) {
    std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (is_shown(log, line, now)) {
      shown += line;
      shown += '\n';
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  log.text = std::move(shown);
  return log;
}

bool LineFolder::is_shown(const wire::Log& log, std::string_view line, Moment now) {
  if (line.empty() || line.size() > kLongestText) return true;
  std::string key = key_of(log, line);
  auto found = windows_.find(key);
  if (found == windows_.end()) {
    if (windows_.size() >= kMostTexts) return true;
    order_.push_back(key);
    found = windows_.emplace(std::move(key), Window{now + kWindow, 0, {}, {}}).first;
  }
  Window& window = found->second;
  if (++window.seen <= kShown) return true;
  if (window.seen == kShown + 1) ++holding_;
  window.last.pid = log.pid;
  window.last.stream = log.stream;
  window.last.task = log.task;
  window.last.text = line;
  window.pids.insert(log.pid);
  return false;
}

std::vector<wire::Log> LineFolder::take_due(Moment now) {
  std::vector<wire::Log> lines;
  while (!order_.empty() && windows_.at(order_.front()).end <= now) end_first(&lines);
  return lines;
}

std::vector<wire::Log> LineFolder::take_all() {
  std::vector<wire::Log> lines;
  while (!order_.empty()) end_first(&lines);
  return lines;
}

std::optional<LineFolder::Moment> LineFolder::next_due() const {
  if (holding_ == 0) return std::nullopt;
  return windows_.at(order_.front()).end;
}

void LineFolder::end_first(std::vector<wire::Log>* lines) {
  auto ended = windows_.extract(order_.front());
  order_.pop_front();
  if (ended.mapped().seen <= kShown) return;
  --holding_;
  lines->push_back(summary(ended.mapped()));
}

wire::Log LineFolder::summary(const Window& window) const {
  wire::Log log = window.last;
  const std::uint64_t held = window.seen - kShown;
  if (held > 1) log.text += fmt::format(" [{} times", held);
  if (held > 1 && window.pids.size() > 1) log.text += fmt::format(", {} workers", window.pids.size());
  if (held > 1) log.text += ']';
  log.text += '\n';
  return log;
}

}  // namespace fray::client
