#include "node/clusters/cluster_log.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "model/json_text.h"
#include "node/clusters/program_refusal.h"

namespace fray::node {

Result<std::unique_ptr<ClusterLog>> ClusterLog::open(event::Loop& loop, OwnPrograms& programs,
                                                     const OwnPrograms::Words& words, const Place& place,
                                                     const OwnPrograms::Variables& variables) {
  std::unique_ptr<ClusterLog> log(new ClusterLog(loop, programs, place));
  FRAY_ASSIGN_OR_RETURN(
      log->program_,
      programs.follow(
          words, [log = log.get()](std::string_view bytes) { log->take(bytes); },
          [log = log.get()](Result<OwnPrograms::Answer> answer) { log->end(std::move(answer)); }, variables));
  return log;
}

ClusterLog::~ClusterLog() {
  loop_.cancel(timer_);
  programs_.withdraw(program_);
}

void ClusterLog::next(OnLines on_lines) {
  on_lines_ = std::move(on_lines);
  programs_.go_on(program_);
  answer_later();
}

void ClusterLog::take(std::string_view bytes) {
  rest_ += bytes;
  std::size_t begin = 0;
  for (std::size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', begin)) {
    take_line(std::string_view(rest_).substr(begin, end - begin));
    begin = end + 1;
  }
  rest_.erase(0, begin);
  if (text_.size() >= kAhead) programs_.pause(program_);
  answer_later();
}

void ClusterLog::take_line(std::string_view line) {
  const nlohmann::json told = parse_json(line);
  if (!told.is_object() || told.value("replica", 0u) != replica_ || told.value("stream", "") != stream_) return;
  text_ += told.value("text", "");
  text_ += '\n';
}

void ClusterLog::end(Result<OwnPrograms::Answer> answer) {
  program_ = 0;
  ended_ = true;
  why_ = answer.is_ok() ? refusal_in(*answer) : answer.status();
  answer_later();
}

void ClusterLog::answer_later() {
  if (!on_lines_ || timer_ != 0 || (text_.empty() && !ended_)) return;
  timer_ = loop_.after({}, [this] {
    timer_ = 0;
    answer();
  });
}

// Text that came before a failure is delivered first. The callback may destroy this object.
void ClusterLog::answer() {
  const OnLines on_lines = std::exchange(on_lines_, {});
  if (text_.empty() && !why_.is_ok()) return on_lines(why_);
  on_lines(Lines{std::exchange(text_, {}), ended_ && why_.is_ok()});
}

}  // namespace fray::node
