// What shared memory costs: a put of 800 MB into warm and cold memory beside plain memcpy, and small objects.
#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include <benchmark/benchmark.h>
#include <unistd.h>

#include "os/memory/memory_file.h"
#include "store/buffer_layout.h"
#include "store/mapping.h"
#include "store/parallel_copy.h"
#include "store/segment_map.h"
#include "store/segment_pool.h"
#include "store/store_fakes.h"
#include "store/work_share.h"

namespace fray::store {
namespace {

constexpr std::uint64_t kBytes = 800'000'000;

std::span<const std::byte> source() {
  static const std::vector<std::byte> bytes(kBytes, std::byte{7});
  return bytes;
}

void set_rate(benchmark::State& state) {
  state.SetBytesProcessed(static_cast<std::int64_t>(kBytes) * state.iterations());
}

// The limit: two threads, memory that is there and mapped.
void memcpy_two_threads(benchmark::State& state) {
  const std::span<const std::byte> from = source();
  FakeBudget budget;
  SegmentPool pool({1}, budget);
  const Block block = pool.allocate(kBytes).value();
  (void)pool.populate(block).is_ok();
  constexpr std::uint64_t kChunk = 4ull << 20;
  for (auto _ : state) {
    (void)share_work((kBytes + kChunk - 1) / kChunk, 2, [&](std::size_t index, unsigned) {
      const std::uint64_t begin = index * kChunk;
      std::memcpy(block.data + begin, from.data() + begin, std::min(kChunk, kBytes - begin));
      return Status::ok();
    }).is_ok();
  }
  set_rate(state);
}
BENCHMARK(memcpy_two_threads)->Unit(benchmark::kMillisecond)->UseRealTime();

// As the client puts an array: header, pickle, one buffer.
void put(SegmentPool& pool, benchmark::State& state, ColdMethod method, Location& location) {
  const std::uint64_t size = kBytes;
  const BufferPlan plan = BufferPlan::measure(120, {&size, 1}).value();
  std::vector<std::byte> header(plan.header_bytes());
  plan.write_header(header);
  const std::vector<std::byte> pickle(120);
  const CopyPart parts[] = {{header, 0}, {pickle, plan.pickle_offset()}, {source(), plan.buffer_offset(0)}};
  const auto block = pool.allocate(plan.total_bytes());
  if (!block.is_ok() || !copy_parts(parts, block.value().destination(), copy_threads(), method).is_ok()) {
    return state.SkipWithError("no memory");
  }
  location = block.value().location;
  benchmark::DoNotOptimize(pool.publish(location.segment).is_ok());
}

void put_warm(benchmark::State& state) {
  (void)source();
  FakeBudget budget;
  SegmentPool pool({1}, budget);
  Location location;
  put(pool, state, ColdMethod::kAutomatic, location);
  (void)pool.free(location).is_ok();
  for (auto _ : state) {
    put(pool, state, ColdMethod::kAutomatic, location);
    (void)pool.free(location).is_ok();
  }
  set_rate(state);
}
BENCHMARK(put_warm)->Unit(benchmark::kMillisecond)->UseRealTime();

void put_cold(benchmark::State& state, ColdMethod method) {
  (void)source();
  FakeBudget budget;
  SegmentPool pool({1, 0}, budget);
  Location location;
  for (auto _ : state) {
    put(pool, state, method, location);
    state.PauseTiming();
    (void)pool.free(location).is_ok();
    state.ResumeTiming();
  }
  set_rate(state);
}
BENCHMARK_CAPTURE(put_cold, userfault, ColdMethod::kUserfault)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(put_cold, write_and_populate, ColdMethod::kWriteAndPopulate)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void allocate_and_free(benchmark::State& state) {
  FakeBudget budget;
  SegmentPool pool({1}, budget);
  const auto size = static_cast<std::uint64_t>(state.range(0));
  (void)pool.populate(pool.allocate(size).value()).is_ok();
  for (auto _ : state) {
    const Block block = pool.allocate(size).value();
    benchmark::DoNotOptimize(pool.free(block.location).is_ok());
  }
}
BENCHMARK(allocate_and_free)->Arg(10'000)->Arg(500'000)->Arg(4 << 20);

// A thousand objects live at once, freed in the order they came.
void allocate_a_thousand(benchmark::State& state) {
  FakeBudget budget;
  SegmentPool pool({1}, budget);
  std::vector<Location> locations(1000);
  for (auto _ : state) {
    for (auto& location : locations) location = pool.allocate(10'000).value().location;
    for (const auto& location : locations) (void)pool.free(location).is_ok();
  }
  state.SetItemsProcessed(1000 * state.iterations());
}
BENCHMARK(allocate_a_thousand)->Unit(benchmark::kMicrosecond);

void view_of_another_writer(benchmark::State& state) {
  FakeBudget budget;
  SegmentPool pool({1}, budget);
  const Block block = pool.allocate(10'000).value();
  Publication news = pool.publish(block.location.segment).value();
  SegmentMap map;
  (void)map.adopt(block.location.segment, std::move(news.descriptor), news.size).is_ok();
  for (auto _ : state) benchmark::DoNotOptimize(map.view(block.location).is_ok());
}
BENCHMARK(view_of_another_writer);

// Without the round trip for the descriptor: look, map, view, unmap.
void adopt_and_view(benchmark::State& state) {
  FakeBudget budget;
  SegmentPool pool({1}, budget);
  const Block block = pool.allocate(kBytes).value();
  const Publication news = pool.publish(block.location.segment).value();
  SegmentMap map;
  for (auto _ : state) {
    os::Fd copy(::dup(news.descriptor.get()));
    (void)map.adopt(block.location.segment, std::move(copy), news.size).is_ok();
    benchmark::DoNotOptimize(map.view(block.location).is_ok());
  }
}
BENCHMARK(adopt_and_view)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace fray::store

BENCHMARK_MAIN();
