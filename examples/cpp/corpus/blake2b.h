// BLAKE2b (RFC 7693) without a key, as Python's hashlib has it.
//
// Threading, Ownership, Failure: functions of values.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

namespace corpus {

class Blake2b {
 public:
  // The first `size` bytes are the digest.
  static std::array<unsigned char, 64> digest(std::string_view text, std::size_t size) {
    Blake2b hash(size);
    while (text.size() > kBlock) {
      hash.count_ += kBlock;
      hash.compress(text.data(), false);
      text.remove_prefix(kBlock);
    }
    std::array<char, kBlock> last{};
    std::copy(text.begin(), text.end(), last.begin());
    hash.count_ += text.size();
    hash.compress(last.data(), true);
    std::array<unsigned char, 64> out;
    std::memcpy(out.data(), hash.state_.data(), out.size());
    return out;
  }

 private:
  using Words = std::array<std::uint64_t, 16>;

  static constexpr std::size_t kBlock = 128;
  static constexpr std::array<std::uint64_t, 8> kStart{0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b,
                                                       0xa54ff53a5f1d36f1, 0x510e527fade682d1, 0x9b05688c2b3e6c1f,
                                                       0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};
  static constexpr unsigned char kOrder[10][16] = {
      {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
      {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
      {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
      {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
      {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

  explicit Blake2b(std::size_t size) : state_(kStart) { state_[0] ^= 0x01010000 ^ size; }

  [[gnu::always_inline]] static void mix(Words& v, std::size_t a, std::size_t b, std::size_t c, std::size_t d,
                                         std::uint64_t x, std::uint64_t y) {
    v[a] += v[b] + x;
    v[d] = std::rotr(v[d] ^ v[a], 32);
    v[c] += v[d];
    v[b] = std::rotr(v[b] ^ v[c], 24);
    v[a] += v[b] + y;
    v[d] = std::rotr(v[d] ^ v[a], 16);
    v[c] += v[d];
    v[b] = std::rotr(v[b] ^ v[c], 63);
  }

  // The rounds are written out by the compiler: the places of the words are constants then.
  template <std::size_t Round>
  [[gnu::always_inline]] static void round(Words& v, const Words& m) {
    constexpr const unsigned char* order = kOrder[Round % 10];
    mix(v, 0, 4, 8, 12, m[order[0]], m[order[1]]);
    mix(v, 1, 5, 9, 13, m[order[2]], m[order[3]]);
    mix(v, 2, 6, 10, 14, m[order[4]], m[order[5]]);
    mix(v, 3, 7, 11, 15, m[order[6]], m[order[7]]);
    mix(v, 0, 5, 10, 15, m[order[8]], m[order[9]]);
    mix(v, 1, 6, 11, 12, m[order[10]], m[order[11]]);
    mix(v, 2, 7, 8, 13, m[order[12]], m[order[13]]);
    mix(v, 3, 4, 9, 14, m[order[14]], m[order[15]]);
  }
  template <std::size_t... Round>
  [[gnu::always_inline]] static void rounds(Words& v, const Words& m, std::index_sequence<Round...>) {
    (round<Round>(v, m), ...);
  }

  void compress(const char* block, bool last) {
    Words m;
    std::memcpy(m.data(), block, kBlock);
    Words v;
    std::copy(state_.begin(), state_.end(), v.begin());
    std::copy(kStart.begin(), kStart.end(), v.begin() + 8);
    v[12] ^= count_;
    if (last) v[14] = ~v[14];
    rounds(v, m, std::make_index_sequence<12>());
    for (std::size_t i = 0; i < 8; ++i) state_[i] ^= v[i] ^ v[i + 8];
  }

  std::array<std::uint64_t, 8> state_;
  std::uint64_t count_ = 0;
};

// BLAKE2b's first 8 bytes as a little-endian number.
inline std::uint64_t hash_of(std::string_view text) {
  std::uint64_t number = 0;
  std::memcpy(&number, Blake2b::digest(text, sizeof(number)).data(), sizeof(number));
  return number;
}

}  // namespace corpus
