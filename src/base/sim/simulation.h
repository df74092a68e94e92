// The parts that all simulators (`*_sim_main.cc`) share: seeded random choices, violations, coverage, and the run over
// seeds.
//
//   int main(int argc, char** argv) {
//     return fray::run_simulation(argc, argv, "lease", [](std::uint64_t seed, fray::SimulationLog& log) { ... });
//   }
//
// Flags: --seeds N, --first S, --expect-failure (exit 0 if and only if a violation was found). The program prints the
// number of seeds and of injected faults, and the pairs of state and event that occurred. It stops at the first seed
// that fails, and names it.
//
// Threading:  one thread.
// Ownership:  values.
// Failure:    a scenario throws SimulationViolation; wrong flags are explained and exit with 2.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace fray {

class SimulationViolation : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The generator splitmix64, which is small and returns the same numbers on every platform.
class SimulationRandom {
 public:
  explicit SimulationRandom(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ull + 1) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  // A number from 0 to bound - 1, or 0 when the bound is 0.
  std::uint32_t below(std::size_t bound) {
    return bound == 0 ? 0 : static_cast<std::uint32_t>(next() % static_cast<std::uint64_t>(bound));
  }
  bool percent(std::uint32_t chance) { return below(100) < chance; }

 private:
  std::uint64_t state_;
};

struct SimulationLog {
  using Pair = std::pair<std::string_view, std::string_view>;  // the views must be of string literals
  std::map<std::string_view, std::uint64_t> faults;
  std::map<Pair, std::uint64_t> seen;
  std::set<Pair> possible;
  std::uint64_t steps = 0;

  void fault(std::string_view name) { ++faults[name]; }
  void event(std::string_view state, std::string_view event) { ++seen[{state, event}]; }
  std::uint64_t fault_count() const {
    std::uint64_t count = 0;
    for (const auto& [name, number] : faults) count += number;
    return count;
  }
};

struct SimulationOptions {
  std::uint64_t seeds = 10'000;
  std::uint64_t first = 1;
  bool expect_failure = false;
  bool valid = true;
};

inline SimulationOptions parse_simulation_options(int argc, char** argv) {
  SimulationOptions options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--expect-failure") {
      options.expect_failure = true;
    } else if ((flag == "--seeds" || flag == "--first") && i + 1 < argc) {
      (flag == "--seeds" ? options.seeds : options.first) = std::strtoull(argv[++i], nullptr, 10);
    } else {
      options.valid = false;
    }
  }
  return options;
}

inline void print_simulation_log(const SimulationLog& log) {
  for (const auto& [name, count] : log.faults) fmt::print("  fault {:<28} {}\n", name, count);
  std::size_t covered = 0;
  for (const auto& pair : log.possible) covered += log.seen.contains(pair) ? 1 : 0;
  fmt::print("  (state, event) pairs seen: {} of {} possible\n", covered, log.possible.size());
  for (const auto& [pair, count] : log.seen) {
    fmt::print("    {:<18} {:<18} {:>9}{}\n", pair.first, pair.second, count,
               log.possible.contains(pair) ? "" : "  (not listed as possible)");
  }
  for (const auto& pair : log.possible) {
    if (!log.seen.contains(pair)) fmt::print("    {:<18} {:<18}     never\n", pair.first, pair.second);
  }
}

inline int run_simulation(int argc, char** argv, std::string_view name,
                          const std::function<void(std::uint64_t, SimulationLog&)>& scenario) {
  const SimulationOptions options = parse_simulation_options(argc, argv);
  if (!options.valid) {
    fmt::print(stderr, "usage: {} [--seeds N] [--first S] [--expect-failure]\n", argv[0]);
    return 2;
  }
  SimulationLog log;
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < options.seeds; ++i) {
    const std::uint64_t seed = options.first + i;
    try {
      scenario(seed, log);
    } catch (const SimulationViolation& violation) {
      fmt::print("{} simulator: seed {} fails: {}\n  again: --first {} --seeds 1\n", name, seed, violation.what(),
                 seed);
      return options.expect_failure ? 0 : 1;
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  fmt::print(
      "{} simulator: {} seeds from {}, no violation; {} faults ({:.1f} a seed), {} steps, {:.1f} s ({:.0f} seeds/s)\n",
      name, options.seeds, options.first, log.fault_count(),
      static_cast<double>(log.fault_count()) / static_cast<double>(options.seeds == 0 ? 1 : options.seeds), log.steps,
      seconds, static_cast<double>(options.seeds) / (seconds > 0 ? seconds : 1e-9));
  print_simulation_log(log);
  return options.expect_failure ? 1 : 0;
}

}  // namespace fray
