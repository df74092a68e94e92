// ray_cpp_bench ROW SECONDS FOLDER: one round of a C++ row through Ray's C++ API, on the Ray at RAY_ADDRESS. FOLDER holds
// the library that Ray's workers load: this file once more. Rows and answers are those of ../cpp/cpp_bench.cc.
//
// A loop of 1000 calls and one Get of them all hangs now and then in Ray 2.60; with a Wait before the Get it does not.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <ray/api.h>

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kInFlight = 1000;
constexpr double kWarmUpSeconds = 0.2;
constexpr int kWaitMilliseconds = 60'000;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

template <typename Submit>
void roundtrips(double seconds, const Submit& submit) {
  std::vector<double> latencies_us;
  for (double budget : {kWarmUpSeconds, seconds}) {
    latencies_us.clear();
    for (auto start = Clock::now(); seconds_since(start) < budget;) {
      auto before = Clock::now();
      ray::Get(submit(1));
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
      std::vector<ray::ObjectRef<int>> refs;
      refs.reserve(kInFlight);
      for (std::size_t i = 0; i < kInFlight; ++i) refs.push_back(submit(static_cast<int>(i)));
      ray::Wait(refs, static_cast<int>(refs.size()), kWaitMilliseconds);
      ray::Get(refs);
    }
    rate = static_cast<double>(done) / seconds_since(start);
  }
  std::printf("{\"value\": %.1f}\n", rate);
}

}  // namespace

int next(int number) { return number + 1; }

class Adder {
 public:
  static Adder* create() { return new Adder; }
  int add(int number) { return total_ += number; }

 private:
  int total_ = 0;
};

RAY_REMOTE(next, Adder::create, &Adder::add);

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: ray_cpp_bench roundtrip|async|actor_roundtrip|actor_async|first SECONDS FOLDER\n");
    return 2;
  }
  const std::string row = argv[1];
  const double seconds = std::atof(argv[2]);
  ray::RayConfig config;
  config.code_search_path = {argv[3]};
  ray::Init(config);
  auto task = [](int number) { return ray::Task(next).Remote(number); };
  if (row == "first") {
    std::printf("%d\n", *ray::Get(task(41)));
    std::fflush(stdout);
  } else if (row == "roundtrip") {
    roundtrips(seconds, task);
  } else if (row == "async") {
    in_flight(seconds, task);
  } else {
    auto adder = ray::Actor(Adder::create).Remote();
    auto call = [&](int number) { return adder.Task(&Adder::add).Remote(number); };
    row == "actor_async" ? in_flight(seconds, call) : roundtrips(seconds, call);
  }
  ray::Shutdown();
}
