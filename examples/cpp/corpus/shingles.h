// The set of a document's shingles, and its MinHash signature.
//
// Threading, Ownership, Failure: functions of values.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace corpus {

inline constexpr std::size_t kShingleWords = 5;
inline constexpr std::size_t kPermutations = 128;

// g++ makes a copy of the function for each of these processors; which one runs is decided when the library is loaded.
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CORPUS_FAST __attribute__((target_clones("default", "avx2", "arch=x86-64-v4")))
#else
#define CORPUS_FAST
#endif

// Sorts numbers that are spread evenly, as hashes are: into shares by their first bits, and each share by itself.
class HashSorter {
 public:
  void sort(std::vector<std::uint64_t>& numbers) {
    if (numbers.size() < 64) return std::sort(numbers.begin(), numbers.end());
    const int shift = std::countl_zero(numbers.size()) + 1;  // shares of one or two numbers
    ends_.assign(std::size_t{1} << (64 - shift), 0);
    for (std::uint64_t number : numbers) ++ends_[number >> shift];
    std::uint32_t begin = 0;
    for (std::uint32_t& end : ends_) begin += std::exchange(end, begin);
    shares_.resize(numbers.size());
    for (std::uint64_t number : numbers) shares_[ends_[number >> shift]++] = number;
    numbers.swap(shares_);
    begin = 0;
    for (std::uint32_t end : ends_) {
      sort_share(numbers.data() + begin, numbers.data() + end);
      begin = end;
    }
  }

 private:
  static void sort_share(std::uint64_t* begin, std::uint64_t* end) {
    constexpr std::ptrdiff_t kFew = 16;  // one number many times over makes a share large
    if (end - begin > kFew) return std::sort(begin, end);
    for (std::uint64_t* next = begin; next < end; ++next) {
      const std::uint64_t number = *next;
      std::uint64_t* place = next;
      for (; place > begin && place[-1] > number; --place) *place = place[-1];
      *place = number;
    }
  }

  std::vector<std::uint32_t> ends_;
  std::vector<std::uint64_t> shares_;
};

// `runs` sums of five hashes that follow each other, or of all of them where they are fewer.
CORPUS_FAST inline void add_up(std::span<const std::uint64_t> hashes, std::span<const std::uint64_t> factors,
                               std::span<std::uint64_t> totals) {
  const std::size_t positions = std::min(kShingleWords, hashes.size());
  for (std::uint64_t& total : totals) total = 0;
  for (std::size_t position = 0; position < positions; ++position) {
    const std::uint64_t* from = hashes.data() + position;
    const std::uint64_t factor = factors[position];
    for (std::size_t run = 0; run < totals.size(); ++run) totals[run] += from[run] * factor;
  }
}

// MinHash: the smallest image of the set under each permutation x -> a*x + b. `permutations` are all a, then all b.
CORPUS_FAST inline void min_hash(std::span<const std::uint64_t> shingles, std::span<const std::uint32_t> permutations,
                                 std::uint32_t* signature) {
  constexpr std::size_t kAtOnce = 32;  // few enough to stay in registers
  for (std::size_t first = 0; first < kPermutations; first += kAtOnce) {
    std::array<std::uint32_t, kAtOnce> a, b, smallest;
    std::copy_n(permutations.data() + first, kAtOnce, a.begin());
    std::copy_n(permutations.data() + kPermutations + first, kAtOnce, b.begin());
    smallest.fill(~std::uint32_t{0});
    for (std::uint64_t shingle : shingles) {
      const auto point = static_cast<std::uint32_t>(shingle >> 32);
      for (std::size_t i = 0; i < kAtOnce; ++i) smallest[i] = std::min(smallest[i], a[i] * point + b[i]);
    }
    std::copy(smallest.begin(), smallest.end(), signature + first);
  }
}

}  // namespace corpus
