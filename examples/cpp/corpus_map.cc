// The map step of examples/corpus.py in C++: reads the files of a batch and learns what corpus_steps.read_batch() learns.
//
// The output has to be the same, byte for byte. So the rules for characters come from Python, as tables of the first 768;
// a document with others is left to Python, which brings it into Unicode's normal form first.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fray/api.h>

namespace {

constexpr std::size_t kShingleWords = 5;
constexpr std::size_t kPermutations = 128;
constexpr std::size_t kKnownCharacters = 768;  // below U+0300 every text is in normal form

// ---- BLAKE2b (RFC 7693), without a key ----

class Blake2b {
 public:
  static std::array<unsigned char, 64> digest(std::string_view text, std::size_t digest_bytes) {
    Blake2b hash(digest_bytes);
    while (text.size() > kBlock) {
      hash.count_ += kBlock;
      hash.compress(text.data(), false);
      text.remove_prefix(kBlock);
    }
    std::array<char, kBlock> last{};
    std::memcpy(last.data(), text.data(), text.size());
    hash.count_ += text.size();
    hash.compress(last.data(), true);
    std::array<unsigned char, 64> out{};
    std::memcpy(out.data(), hash.state_.data(), out.size());
    return out;
  }

 private:
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

  explicit Blake2b(std::size_t digest_bytes) : state_(kStart) { state_[0] ^= 0x01010000 ^ digest_bytes; }

  void compress(const char* block, bool last) {
    std::array<std::uint64_t, 16> m;
    std::memcpy(m.data(), block, kBlock);
    std::array<std::uint64_t, 16> v;
    std::copy(state_.begin(), state_.end(), v.begin());
    std::copy(kStart.begin(), kStart.end(), v.begin() + 8);
    v[12] ^= count_;
    if (last) v[14] = ~v[14];
    for (int round = 0; round < 12; ++round) {
      const unsigned char* order = kOrder[round % 10];
      auto mix = [&](int a, int b, int c, int d, int at) {
        auto &va = v[std::size_t(a)], &vb = v[std::size_t(b)], &vc = v[std::size_t(c)], &vd = v[std::size_t(d)];
        va += vb + m[order[at]];
        vd = std::rotr(vd ^ va, 32);
        vc += vd;
        vb = std::rotr(vb ^ vc, 24);
        va += vb + m[order[at + 1]];
        vd = std::rotr(vd ^ va, 16);
        vc += vd;
        vb = std::rotr(vb ^ vc, 63);
      };
      for (int i = 0; i < 4; ++i) mix(i, 4 + i, 8 + i, 12 + i, 2 * i);
      for (int i = 0; i < 4; ++i) mix(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, 8 + 2 * i);
    }
    for (std::size_t i = 0; i < 8; ++i) state_[i] ^= v[i] ^ v[i + 8];
  }

  std::array<std::uint64_t, 8> state_;
  std::uint64_t count_ = 0;
};

// BLAKE2b's 8 bytes as a big-endian number.
std::uint64_t swapped(std::uint64_t number) { return __builtin_bswap64(number); }

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t number = 0;
  std::memcpy(&number, Blake2b::digest(text, 8).data(), sizeof(number));
  return number;
}

}  // namespace

// What the characters below U+0300 are, by Python's rules.
struct Characters {
  std::vector<bool> word;
  std::vector<bool> space;
  std::vector<std::string> folded;  // upper and lower case made the same, as UTF-8
};
FRAY_STRUCT(Characters, word, space, folded);

struct MapSettings {
  std::string root;
  std::int64_t seed = 0;
  std::size_t max_file_bytes = 0;
  std::vector<std::uint64_t> factors;  // of the words of a shingle
};
FRAY_STRUCT(MapSettings, root, seed, max_file_bytes, factors);

// Of all documents of a batch, in the order of their numbers.
struct Learnt {
  std::vector<std::int64_t> numbers, tokens, text_ends, shingle_ends;
  fray::Array<std::uint64_t> orders;
  fray::Bytes texts;  // end to end, as UTF-8; ends count bytes
  fray::Bytes digests;
  fray::Array<std::uint64_t> shingles;
  fray::Array<std::uint32_t> signatures;
  std::int64_t bytes = 0;
  std::map<std::string, std::int64_t> skipped;
  std::vector<std::int64_t> left;  // to Python
};
FRAY_STRUCT(Learnt, numbers, tokens, text_ends, shingle_ends, orders, texts, digests, shingles, signatures, bytes,
            skipped, left);

namespace {

// ---- Reading ----

enum class Read { kText, kBinary, kLeft };

// The file's text without a byte order mark; what is no plain text, and what cannot be read, is Python's to judge.
Read read_text(const std::string& path, std::size_t max_bytes, std::string* text, std::size_t* bytes) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return Read::kLeft;
  const auto size = static_cast<std::size_t>(file.tellg());
  if (size > max_bytes) return Read::kLeft;
  file.seekg(0);
  text->resize(size);
  if (!file.read(text->data(), static_cast<std::streamsize>(size))) return Read::kLeft;
  if (text->find('\0') != std::string::npos) return Read::kBinary;
  *bytes = size;
  if (text->starts_with("\xEF\xBB\xBF")) text->erase(0, 3);
  return Read::kText;
}

// Characters below U+0300 as they are, all others refused.
bool decode(std::string_view text, std::u16string* out) {
  out->clear();
  out->reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) {
      out->push_back(byte);
      continue;
    }
    if (byte < 0xC2 || byte >= 0xCC || i + 1 >= text.size()) return false;
    const auto next = static_cast<unsigned char>(text[++i]);
    if ((next & 0xC0) != 0x80) return false;
    out->push_back(static_cast<char16_t>(((byte & 0x1F) << 6) | (next & 0x3F)));
  }
  return true;
}

void append_utf8(char16_t character, std::string* out) {
  if (character < 0x80) {
    out->push_back(static_cast<char>(character));
  } else {
    out->push_back(static_cast<char>(0xC0 | (character >> 6)));
    out->push_back(static_cast<char>(0x80 | (character & 0x3F)));
  }
}

// `\n` line ends, no space at the end of lines, no empty lines around the text.
std::u16string normalise(const Characters& known, std::u16string_view text) {
  std::u16string out;
  out.reserve(text.size());
  std::size_t line_end = 0;  // behind the last character of the line that is no space
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || text[i] == u'\n' || text[i] == u'\r') {
      out.resize(line_end);
      if (i == text.size()) break;
      if (text[i] == u'\r' && i + 1 < text.size() && text[i + 1] == u'\n') ++i;
      out.push_back(u'\n');
      line_end = out.size();
    } else {
      out.push_back(text[i]);
      if (!known.space[text[i]]) line_end = out.size();
    }
  }
  const std::size_t begin = out.find_first_not_of(u'\n');
  if (begin == std::u16string::npos) return {};
  return out.substr(begin, out.find_last_not_of(u'\n') - begin + 1);
}

// ---- Learning ----

class Reader {
 public:
  Reader(const MapSettings& settings, const Characters& known, std::span<const std::uint32_t> permutations)
      : settings_(settings), known_(known), permutations_(permutations) {}

  void read(std::int64_t number, const std::string& path, const std::string& key) {
    std::string raw;
    std::size_t bytes = 0;
    switch (read_text(settings_.root + "/" + path, settings_.max_file_bytes, &raw, &bytes)) {
      case Read::kBinary:
        ++learnt_.skipped["binary"];
        return;
      case Read::kText:
        break;
      default:
        learnt_.left.push_back(number);
        return;
    }
    std::u16string characters;
    if (!decode(raw, &characters)) return learnt_.left.push_back(number);
    const std::u16string text = normalise(known_, characters);
    split_words(text);
    if (words_ == 0) {
      ++learnt_.skipped["empty"];
      return;
    }
    learnt_.numbers.push_back(number);
    learnt_.tokens.push_back(static_cast<std::int64_t>(words_ + visible_ - word_characters_));
    learnt_.bytes += static_cast<std::int64_t>(bytes);
    orders_.push_back(swapped(hash_of(std::to_string(settings_.seed) + std::string(1, '\0') + key)));
    const std::size_t begin = texts_.size();
    for (char16_t character : text) append_utf8(character, &texts_);
    learnt_.text_ends.push_back(static_cast<std::int64_t>(texts_.size()));
    const auto digest = Blake2b::digest(std::string_view(texts_).substr(begin), 16);
    for (std::size_t i = 0; i < 16; ++i) learnt_.digests.push_back(static_cast<std::byte>(digest[i]));
    add_shingles();
  }

  Learnt finish() {
    const auto* text = reinterpret_cast<const std::byte*>(texts_.data());
    learnt_.texts.assign(text, text + texts_.size());
    learnt_.orders = fray::Array<std::uint64_t>(orders_);
    learnt_.shingles = fray::Array<std::uint64_t>(shingles_);
    learnt_.signatures = {signatures_, {signatures_.size() / kPermutations, kPermutations}};
    return std::move(learnt_);
  }

 private:
  void split_words(std::u16string_view text) {
    words_ = visible_ = word_characters_ = 0;
    hashes_.clear();
    for (std::size_t i = 0; i < text.size();) {
      if (!known_.word[text[i]]) {
        visible_ += known_.space[text[i]] ? 0 : 1;
        ++i;
        continue;
      }
      const std::size_t begin = i;
      while (i < text.size() && known_.word[text[i]]) {
        visible_ += known_.space[text[i]] ? 0 : 1;
        ++i;
      }
      ++words_;
      word_characters_ += i - begin;
      hashes_.push_back(word_hash(text.substr(begin, i - begin)));
    }
  }

  std::uint64_t word_hash(std::u16string_view word) {
    auto found = known_words_.find(std::u16string(word));
    if (found != known_words_.end()) return found->second;
    std::string folded;
    for (char16_t character : word) folded += known_.folded[character];
    return known_words_.emplace(word, hash_of(folded)).first->second;
  }

  void add_shingles() {
    const std::size_t runs = hashes_.size() < kShingleWords ? 1 : hashes_.size() - kShingleWords + 1;
    std::vector<std::uint64_t> totals(runs, 0);
    for (std::size_t position = 0; position < std::min(kShingleWords, hashes_.size()); ++position) {
      for (std::size_t run = 0; run < runs; ++run) totals[run] += hashes_[position + run] * settings_.factors[position];
    }
    std::sort(totals.begin(), totals.end());
    totals.erase(std::unique(totals.begin(), totals.end()), totals.end());
    shingles_.insert(shingles_.end(), totals.begin(), totals.end());
    learnt_.shingle_ends.push_back(static_cast<std::int64_t>(shingles_.size()));
    add_signature(totals);
  }

  // MinHash: the smallest image of the set under each permutation x -> a*x + b.
  void add_signature(const std::vector<std::uint64_t>& totals) {
    std::array<std::uint32_t, kPermutations> smallest;
    smallest.fill(~std::uint32_t{0});
    const std::uint32_t* a = permutations_.data();
    const std::uint32_t* b = a + kPermutations;
    for (std::uint64_t total : totals) {
      const auto point = static_cast<std::uint32_t>(total >> 32);
      for (std::size_t i = 0; i < kPermutations; ++i) smallest[i] = std::min(smallest[i], a[i] * point + b[i]);
    }
    signatures_.insert(signatures_.end(), smallest.begin(), smallest.end());
  }

  const MapSettings& settings_;
  const Characters& known_;
  std::span<const std::uint32_t> permutations_;
  Learnt learnt_;
  std::string texts_;
  std::vector<std::uint64_t> orders_, shingles_, hashes_;
  std::vector<std::uint32_t> signatures_;
  std::size_t words_ = 0, visible_ = 0, word_characters_ = 0;
  std::unordered_map<std::u16string, std::uint64_t> known_words_;
};

}  // namespace

// `files`: number, path and key of each.
Learnt read_batch(const MapSettings& settings, const Characters& known, std::span<const std::uint32_t> permutations,
                  const std::vector<std::tuple<std::int64_t, std::string, std::string>>& files) {
  if (known.word.size() != kKnownCharacters || permutations.size() != 2 * kPermutations) {
    throw std::invalid_argument("the tables are not those of corpus_native.py");
  }
  Reader reader(settings, known, permutations);
  for (const auto& [number, path, key] : files) reader.read(number, path, key);
  return reader.finish();
}
FRAY_TASK(read_batch);
