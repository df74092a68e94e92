// cpp_bench ROW SECONDS: one round of a C++ row. Prints one JSON object, as the programs of limits/ do.
//
// Rows: roundtrip and actor_roundtrip (one call at a time), async and actor_async (1000 submitted, then all got), first
// (prints its result as soon as it has one).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fray/api.h>

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kInFlight = 1000;
constexpr double kWarmUpSeconds = 0.2;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

template <typename Submit>
void roundtrips(double seconds, const Submit& submit) {
  std::vector<double> latencies_us;
  for (double budget : {kWarmUpSeconds, seconds}) {
    latencies_us.clear();
    for (auto start = Clock::now(); seconds_since(start) < budget;) {
      auto before = Clock::now();
      fray::get(submit(1)).value_or_throw();
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

template <typename Submit>
void in_flight(double seconds, const Submit& submit) {
  double rate = 0;
  for (double budget : {kWarmUpSeconds, seconds}) {
    std::size_t done = 0;
    auto start = Clock::now();
    for (; seconds_since(start) < budget; done += kInFlight) {
      std::vector<fray::ObjectRef<int>> refs;
      refs.reserve(kInFlight);
      for (std::size_t i = 0; i < kInFlight; ++i) refs.push_back(submit(static_cast<int>(i)));
      fray::get(refs).value_or_throw();
    }
    rate = static_cast<double>(done) / seconds_since(start);
  }
  std::printf("{\"value\": %.1f}\n", rate);
}

}  // namespace

int next(int number) { return number + 1; }
FRAY_TASK(next);

class Adder {
 public:
  int add(int number) { return total_ += number; }

 private:
  int total_ = 0;
};
FRAY_ACTOR(Adder, (), add);

int main(int argc, char** argv) {
  auto session = fray::connect({.cpus = 2}).value_or_throw();
  const std::string row = argc > 1 ? argv[1] : "";
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1;
  auto task = [](int number) { return fray::submit(next, number); };
  if (row == "first") {
    std::printf("%d\n", fray::get(task(41)).value_or_throw());
    std::fflush(stdout);
  } else if (row == "roundtrip") {
    roundtrips(seconds, task);
  } else if (row == "async") {
    in_flight(seconds, task);
  } else if (row == "actor_roundtrip" || row == "actor_async") {
    auto adder = fray::create_actor<Adder>().value_or_throw();
    auto call = [&](int number) { return adder.call(&Adder::add, number); };
    row == "actor_async" ? in_flight(seconds, call) : roundtrips(seconds, call);
  } else {
    std::fprintf(stderr, "usage: cpp_bench roundtrip|async|actor_roundtrip|actor_async|first SECONDS\n");
    return 2;
  }
}
