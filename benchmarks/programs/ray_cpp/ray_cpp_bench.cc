// ray_cpp_bench ROW SECONDS FOLDER: one round of a C++ row through Ray's C++ API, on the Ray at RAY_ADDRESS. FOLDER holds
// the library that Ray's workers load: this file once more. Rows and answers are those of ../cpp/cpp_bench.cc.
//
// A loop of 1000 calls and one Get of them all hangs now and then in Ray 2.60, with a Wait before the Get less often; the
// row says so then.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <ray/api.h>

#include "../cpp/rounds.h"

namespace {

constexpr int kWaitMilliseconds = 60'000;

template <typename Submit>
void one_at_a_time(double seconds, const Submit& submit) {
  bench::roundtrips(seconds, [&] { ray::Get(submit(1)); });
}

template <typename Submit>
void many_at_once(double seconds, const Submit& submit) {
  bench::in_flight(seconds, [&] {
    std::vector<ray::ObjectRef<int>> refs;
    refs.reserve(bench::kInFlight);
    for (std::size_t i = 0; i < bench::kInFlight; ++i) refs.push_back(submit(static_cast<int>(i)));
    ray::Wait(refs, static_cast<int>(refs.size()), kWaitMilliseconds);
    ray::Get(refs);
  });
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
    one_at_a_time(seconds, task);
  } else if (row == "async") {
    many_at_once(seconds, task);
  } else {
    auto adder = ray::Actor(Adder::create).Remote();
    auto call = [&](int number) { return adder.Task(&Adder::add).Remote(number); };
    row == "actor_async" ? many_at_once(seconds, call) : one_at_a_time(seconds, call);
  }
  ray::Shutdown();
}
