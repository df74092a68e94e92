#include "http_client/backoff.h"

#include <algorithm>
#include <thread>

namespace fray::http_client {

namespace {

constexpr std::chrono::milliseconds kBetweenLooks{100};  // between two checks whether to give up

}  // namespace

bool pause(const Endpoint& endpoint, std::chrono::milliseconds length) {
  using Clock = std::chrono::steady_clock;
  for (const auto end = Clock::now() + length; Clock::now() < end;) {
    if (endpoint.interrupted && endpoint.interrupted()) return false;
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(kBetweenLooks, end - Clock::now()));
  }
  return true;
}

bool Backoff::rest() {
  if (is_over()) return false;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
  interrupted_ = !pause(endpoint_, std::min(next_, left));
  next_ = std::min(next_ * 2, rests_.longest);
  return !interrupted_;
}

}  // namespace fray::http_client
