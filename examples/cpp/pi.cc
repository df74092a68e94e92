// pi [SAMPLES]: throws darts on all cores, and shows the estimate as it gets better.
#include <cstdint>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <random>
#include <vector>

#include <fray/api.h>

constexpr std::uint64_t kTasks = 64;

// How many of `count` random points of the unit square lie inside the quarter circle.
std::uint64_t hits(std::uint64_t seed, std::uint64_t count) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> side(0.0, 1.0);
  std::uint64_t inside = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const double x = side(random), y = side(random);
    if (x * x + y * y <= 1.0) ++inside;
  }
  return inside;
}
FRAY_TASK(hits);

int main(int argc, char** argv) {
  auto session = fray::connect().value_or_throw();
  const std::uint64_t samples = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20'000'000;
  const std::uint64_t share = samples / kTasks;

  std::vector<fray::ObjectRef<std::uint64_t>> tasks;
  for (std::uint64_t seed = 0; seed < kTasks; ++seed) tasks.push_back(fray::submit(hits, seed, share));

  std::uint64_t inside = 0, thrown = 0;
  for (const auto& done : fray::as_completed(tasks)) {
    inside += fray::get(done).value_or_throw();
    thrown += share;
    std::cerr << '\r' << std::setprecision(8) << 4.0 * static_cast<double>(inside) / static_cast<double>(thrown);
  }
  std::cerr << '\n';
  std::cout << std::setprecision(6) << 4.0 * static_cast<double>(inside) / static_cast<double>(thrown) << '\n';
}
