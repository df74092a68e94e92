// The rounds of the C++ rows, whoever runs the calls: each prints one JSON object.
//
// Threading:  one thread.
// Ownership:  none.
// Failure:    what a call throws.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace bench {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kInFlight = 1000;
constexpr double kWarmUpSeconds = 0.2;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// One call at a time: `call` submits it and takes its result.
template <typename Call>
void roundtrips(double seconds, const Call& call) {
  std::vector<double> latencies_us;
  for (double budget : {kWarmUpSeconds, seconds}) {
    latencies_us.clear();
    for (auto start = Clock::now(); seconds_since(start) < budget;) {
      auto before = Clock::now();
      call();
      latencies_us.push_back(1e6 * seconds_since(before));
    }
  }
  std::sort(latencies_us.begin(), latencies_us.end());
  auto percentile = [&](double fraction) {
    return latencies_us[static_cast<std::size_t>(fraction * static_cast<double>(latencies_us.size() - 1))];
  };
  std::printf("{\"value\": %.1f, \"p50_us\": %.2f, \"p99_us\": %.2f}\n",
              static_cast<double>(latencies_us.size()) / seconds, percentile(0.5), percentile(0.99));
}

// kInFlight calls at a time: `calls` submits so many and takes all their results.
template <typename Calls>
void in_flight(double seconds, const Calls& calls) {
  double rate = 0;
  for (double budget : {kWarmUpSeconds, seconds}) {
    std::size_t done = 0;
    auto start = Clock::now();
    for (; seconds_since(start) < budget; done += kInFlight) calls();
    rate = static_cast<double>(done) / seconds_since(start);
  }
  std::printf("{\"value\": %.1f}\n", rate);
}

}  // namespace bench
