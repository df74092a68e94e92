#include "runtime_env/prepare_protocol.h"

#include <array>
#include <cerrno>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "model/json_text.h"
#include "runtime_env/prepare.h"

namespace fray::runtime_env {

namespace {

using nlohmann::json;

constexpr std::size_t kMostDescription = 16u << 20;

bool receive_description(int fd, std::string* text) {
  std::array<char, 16384> chunk;
  while (text->size() < kMostDescription) {
    const ssize_t got = ::read(fd, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    text->append(chunk.data(), static_cast<std::size_t>(got));
    if (text->back() == '\0') {
      text->pop_back();
      return true;
    }
  }
  return false;
}

// A failure means that the asking process has ended, which does not matter.
void tell(int fd, const json& news) {
  const std::string line = json_text(news) + "\n";
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t sent = ::send(fd, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void wait_for_end(int fd) {
  std::array<char, 256> ignored;
  while (true) {
    const ssize_t got = ::read(fd, ignored.data(), ignored.size());
    if (got == 0 || (got < 0 && errno != EINTR)) return;
  }
}

Result<Preparation> prepare_described(const std::string& text, const BuildWatch& watch) {
  FRAY_ASSIGN_OR_RETURN(const RuntimeEnvSpec spec, parse_runtime_env_spec(text));
  FRAY_ASSIGN_OR_RETURN(const EnvCache cache, EnvCache::open());
  FRAY_ASSIGN_OR_RETURN(Preparation made, prepare(spec, cache, own_environment(), watch));
  cache.prune(EnvCache::kDefaultLimit);
  return made;
}

}  // namespace

PrepareNews parse_prepare_news(std::string_view line) {
  json news = parse_json(line);
  PrepareNews parsed;
  if (!news.is_object()) {
    parsed.end = Result<PreparedEnv>(Status(StatusCode::kCorruption, "the answer about an environment is no JSON"));
  } else if (news.contains("prepared")) {
    parsed.end = parse_prepared_env(json_text(news["prepared"]));
  } else if (news.contains("error")) {
    const int code = news.value("code", 0);
    const bool known = code > 0 && code <= static_cast<int>(StatusCode::kRuntimeEnv);
    parsed.end = Result<PreparedEnv>(
        Status(known ? static_cast<StatusCode>(code) : StatusCode::kInternal, news.value("error", "")));
  } else {
    parsed.state = news.value("state", "");
  }
  return parsed;
}

int answer_preparation(os::Fd socket) {
  const int flags = ::fcntl(socket.get(), F_GETFL);
  ::fcntl(socket.get(), F_SETFD, FD_CLOEXEC);
  if (flags < 0 || ::fcntl(socket.get(), F_SETFL, flags & ~O_NONBLOCK) != 0) return 2;
  std::string description;
  if (!receive_description(socket.get(), &description)) return 2;
  BuildWatch watch;
  watch.lifeline_fd = socket.get();
  std::string last;
  watch.say = [&](const std::string& state) {
    if (std::exchange(last, state) != state) tell(socket.get(), {{"state", state}});
  };
  Result<Preparation> made = prepare_described(description, watch);
  if (!made.is_ok()) {
    tell(socket.get(), {{"code", static_cast<int>(made.status().code())}, {"error", made.status().message()}});
    return 1;
  }
  tell(socket.get(), {{"prepared", parse_json(to_json(made->prepared))}});
  wait_for_end(socket.get());
  return 0;
}

}  // namespace fray::runtime_env
