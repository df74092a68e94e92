// cpp_bench ROW SECONDS: one round of a C++ row. Prints one JSON object, as the programs of limits/ do.
//
// Rows: roundtrip and actor_roundtrip (one call at a time), async and actor_async (1000 submitted, then all got), first
// (prints its result as soon as it has one).
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fray/api.h>

#include "rounds.h"

namespace {

template <typename Submit>
void one_at_a_time(double seconds, const Submit& submit) {
  bench::roundtrips(seconds, [&] { fray::get(submit(1)).value_or_throw(); });
}

template <typename Submit>
void many_at_once(double seconds, const Submit& submit) {
  bench::in_flight(seconds, [&] {
    std::vector<fray::ObjectRef<int>> refs;
    refs.reserve(bench::kInFlight);
    for (std::size_t i = 0; i < bench::kInFlight; ++i) refs.push_back(submit(static_cast<int>(i)));
    fray::get(refs).value_or_throw();
  });
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
    one_at_a_time(seconds, task);
  } else if (row == "async") {
    many_at_once(seconds, task);
  } else if (row == "actor_roundtrip" || row == "actor_async") {
    auto adder = fray::create_actor<Adder>().value_or_throw();
    auto call = [&](int number) { return adder.call(&Adder::add, number); };
    row == "actor_async" ? many_at_once(seconds, call) : one_at_a_time(seconds, call);
  } else {
    std::fprintf(stderr, "usage: cpp_bench roundtrip|async|actor_roundtrip|actor_async|first SECONDS\n");
    return 2;
  }
}
