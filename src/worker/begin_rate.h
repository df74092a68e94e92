// BeginRate: whether tasks begin one after the other, several in each millisecond, or now and then.
//
//   if (rate.streams(begun_so_far, now_ns)) ...     // several in each millisecond, since this was asked last
//
// Threading:  one thread.
// Ownership:  values.
// Failure:    none.
#pragma once

#include <cstdint>
#include <utility>

namespace fray::worker {

class BeginRate {
 public:
  bool streams(std::uint64_t begun, std::uint64_t now_ns) {
    constexpr std::uint64_t kFew = 4;
    constexpr std::uint64_t kMillisecond = 1'000'000;
    const std::uint64_t tasks = begun - std::exchange(seen_, begun);
    const std::uint64_t span = now_ns - std::exchange(seen_at_ns_, now_ns);
    return tasks >= kFew && tasks * kMillisecond > span;
  }

 private:
  std::uint64_t seen_ = 0;
  std::uint64_t seen_at_ns_ = 0;
};

}  // namespace fray::worker
