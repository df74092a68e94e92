// The map step of examples/corpus.py in C++: reads the files of a batch and learns what corpus_steps.read_batch() learns.
//
// The output has to be the same, byte for byte. What a word, a space or a folded letter is comes from Python, as tables; a
// document with characters that may have to be brought into Unicode's normal form is left to Python.
//
// A document's way: its bytes, the normalised text, the hashes of its words, the set of its shingles, the signature. It stays
// UTF-8, and all that is as long as a document is used again for the next one.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fray/api.h>

#include "blake2b.h"
#include "characters.h"
#include "shingles.h"
#include "words.h"

using corpus::CharacterRules;
using corpus::Characters;

struct MapSettings {
  std::string root;
  std::int64_t seed = 0;
  std::size_t max_file_bytes = 0;
  std::vector<std::uint64_t> factors;       // of the words of a shingle
  fray::Array<std::uint32_t> permutations;  // x -> a*x + b: all a, then all b
};
FRAY_STRUCT(MapSettings, root, seed, max_file_bytes, factors, permutations);

// Of all documents of a batch, in the order of their numbers.
struct Learnt {
  std::vector<std::int64_t> numbers, tokens, text_ends, shingle_ends;
  fray::Array<std::uint64_t> orders;
  fray::Array<std::uint8_t> texts;  // end to end, as UTF-8; ends count bytes
  fray::Array<std::uint8_t> digests;
  fray::Array<std::uint64_t> shingles;
  fray::Array<std::uint32_t> signatures;
  std::int64_t bytes = 0;
  std::map<std::string, std::int64_t> skipped;
  std::vector<std::int64_t> left;  // to Python
};
FRAY_STRUCT(Learnt, numbers, tokens, text_ends, shingle_ends, orders, texts, digests, shingles, signatures, bytes,
            skipped, left);

namespace {

constexpr std::size_t kDigestBytes = 16;

enum class Read { kText, kBinary, kLeft };

// The whole file, unless a zero in its beginning shows that it is no text; what cannot be read or is too large is left to
// Python to judge.
Read read_file(int fd, std::size_t max_bytes, std::string* out) {
  constexpr std::size_t kBeginning = 8192;
  struct stat about {};
  if (fd < 0 || ::fstat(fd, &about) != 0 || static_cast<std::size_t>(about.st_size) > max_bytes) return Read::kLeft;
  out->resize(static_cast<std::size_t>(about.st_size));
  for (std::size_t got = 0; got < out->size();) {
    const std::size_t wanted = got < kBeginning ? std::min(kBeginning, out->size()) - got : out->size() - got;
    const ssize_t count = ::read(fd, out->data() + got, wanted);
    if (count <= 0) return Read::kLeft;
    if (std::memchr(out->data() + got, '\0', static_cast<std::size_t>(count)) != nullptr) return Read::kBinary;
    got += static_cast<std::size_t>(count);
  }
  return Read::kText;
}

Read read_file(const std::string& path, std::size_t max_bytes, std::string* out) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const Read outcome = read_file(fd, max_bytes, out);
  if (fd >= 0) ::close(fd);
  return outcome;
}

void unify_line_ends(std::string& text) {
  if (std::memchr(text.data(), '\r', text.size()) == nullptr) return;
  std::size_t size = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    text[size++] = text[i] == '\r' ? '\n' : text[i];
  }
  text.resize(size);
}

// `text` without spaces at the end of lines and without empty lines around it.
void normalise(const Characters& characters, std::string_view text, std::string* out) {
  out->clear();
  bool more = true;
  while (more) {
    const std::size_t end = text.find('\n');
    more = end != std::string_view::npos;
    std::string_view line = characters.without_spaces_behind(text.substr(0, end));
    if (!out->empty() || !line.empty()) out->append(line).push_back('\n');
    text.remove_prefix(more ? end + 1 : text.size());
  }
  const std::size_t last = out->find_last_not_of('\n');
  out->resize(last == std::string::npos ? 0 : last + 1);
}

class Reader {
 public:
  Reader(const MapSettings& settings, const Characters& characters, corpus::WordHashes& words)
      : settings_(settings), characters_(characters), words_(words) {}

  void read(std::int64_t number, const std::string& path, const std::string& key) {
    const Read outcome =
        path.empty() ? Read::kLeft : read_file(settings_.root + "/" + path, settings_.max_file_bytes, &raw_);
    if (outcome == Read::kLeft) return learnt_.left.push_back(number);
    if (outcome == Read::kBinary) {
      ++learnt_.skipped["binary"];
      return;
    }
    const std::size_t file_bytes = raw_.size();
    if (raw_.starts_with("\xEF\xBB\xBF")) raw_.erase(0, 3);
    if (!characters_.know(raw_)) return learnt_.left.push_back(number);
    unify_line_ends(raw_);
    normalise(characters_, raw_, &text_);
    split_words();
    if (hashes_.empty()) {
      ++learnt_.skipped["empty"];
      return;
    }
    learnt_.bytes += static_cast<std::int64_t>(file_bytes);
    add_document(number, key);
    add_shingles();
  }

  Learnt finish() {
    learnt_.orders = fray::Array<std::uint64_t>(orders_);
    learnt_.texts = array_of(std::move(texts_));
    learnt_.digests = array_of(std::move(digests_));
    learnt_.shingles = fray::Array<std::uint64_t>(shingles_);
    learnt_.signatures = {signatures_, {signatures_.size() / corpus::kPermutations, corpus::kPermutations}};
    return std::move(learnt_);
  }

 private:
  static fray::Array<std::uint8_t> array_of(std::string bytes) {
    auto kept = std::make_shared<const std::string>(std::move(bytes));
    return {{reinterpret_cast<const std::uint8_t*>(kept->data()), kept->size()}, {kept->size()}, kept};
  }

  // Fills `hashes_`, and counts the characters that are neither in words nor spaces.
  void split_words() {
    hashes_.clear();
    signs_ = 0;
    std::size_t begin = 0;  // of the present word
    for (std::size_t at = 0; at < text_.size();) {
      const std::size_t here = at;
      const std::uint8_t properties = take_character(&at);
      if (properties & corpus::kWord) continue;
      add_word(begin, here);
      begin = at;
      if (!(properties & corpus::kSpace)) ++signs_;
    }
    add_word(begin, text_.size());
  }
  std::uint8_t take_character(std::size_t* at) const {
    if (static_cast<unsigned char>(text_[*at]) < 0x80) return characters_.ascii(text_[(*at)++]);
    const corpus::Decoded next = corpus::decode(std::string_view(text_).substr(*at));
    *at += next.bytes;
    return characters_[next.character];
  }
  void add_word(std::size_t begin, std::size_t end) {
    if (begin == end) return;
    hashes_.push_back(words_.of(std::string_view(text_).substr(begin, end - begin), characters_));
  }

  void add_document(std::int64_t number, const std::string& key) {
    learnt_.numbers.push_back(number);
    learnt_.tokens.push_back(static_cast<std::int64_t>(hashes_.size() + signs_));
    // Python reads these 8 bytes as a big-endian number.
    orders_.push_back(__builtin_bswap64(corpus::hash_of(std::to_string(settings_.seed) + '\0' + key)));
    texts_.append(text_);
    learnt_.text_ends.push_back(static_cast<std::int64_t>(texts_.size()));
    const auto digest = corpus::Blake2b::digest(text_, kDigestBytes);
    digests_.append(reinterpret_cast<const char*>(digest.data()), kDigestBytes);
  }

  void add_shingles() {
    set_.resize(hashes_.size() < corpus::kShingleWords ? 1 : hashes_.size() - corpus::kShingleWords + 1);
    corpus::add_up(hashes_, settings_.factors, set_);
    sorter_.sort(set_);
    set_.erase(std::unique(set_.begin(), set_.end()), set_.end());
    shingles_.insert(shingles_.end(), set_.begin(), set_.end());
    learnt_.shingle_ends.push_back(static_cast<std::int64_t>(shingles_.size()));
    signatures_.resize(signatures_.size() + corpus::kPermutations);
    corpus::min_hash(set_, settings_.permutations, &signatures_[signatures_.size() - corpus::kPermutations]);
  }

  const MapSettings& settings_;
  const Characters& characters_;
  corpus::WordHashes& words_;
  corpus::HashSorter sorter_;
  Learnt learnt_;
  std::string texts_, digests_;
  std::vector<std::uint64_t> orders_, shingles_;
  std::vector<std::uint32_t> signatures_;
  // Of the present document.
  std::string raw_, text_;
  std::vector<std::uint64_t> hashes_, set_;
  std::size_t signs_ = 0;
};

}  // namespace

// `files`: number, path and key of each.
Learnt read_batch(const MapSettings& settings, const CharacterRules& rules,
                  const std::vector<std::tuple<std::int64_t, std::string, std::string>>& files) {
  if (settings.factors.size() != corpus::kShingleWords || settings.permutations.size() != 2 * corpus::kPermutations) {
    throw std::invalid_argument("the settings are not those of corpus_native.py");
  }
  static corpus::WordHashes words;  // tasks of a worker run one after the other, and their texts have words in common
  const Characters characters(rules);
  Reader reader(settings, characters, words);
  for (const auto& [number, path, key] : files) reader.read(number, path, key);
  return reader.finish();
}
FRAY_TASK(read_batch);
