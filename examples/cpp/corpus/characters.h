// Characters: Python's rules for characters, as tables that it sends along: corpus_native.py makes them. UTF-8 stays UTF-8
// here: bytes below 0x80 are looked up as they are, and only others are decoded.
//
// Threading:  immutable.
// Ownership:  the properties lie in shared memory; `Characters` keeps them.
// Failure:    what the tables do not cover is not "known", and the document goes to Python.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fray/api.h>

namespace corpus {

struct CharacterRules {
  fray::Array<std::uint8_t> properties;  // of each character from U+0000; see Property
  fray::Array<std::uint32_t> folded;     // the characters that upper and lower case make others
  std::vector<std::string> folds;        // and what they make of each
};
FRAY_STRUCT(CharacterRules, properties, folded, folds);

enum Property : std::uint8_t {
  kWord = 1,
  kSpace = 2,
  kKnown = 4,   // a text of such characters alone is in normal form
  kFolded = 8,  // it is another one when case is folded
};

// A character of UTF-8 and the bytes that it takes; 0 bytes where the text is no UTF-8.
struct Decoded {
  char32_t character = 0;
  std::size_t bytes = 0;
};

// `text` is not empty. As strict as Python is: no surrogates, nothing that is longer than it must be.
inline Decoded decode(std::string_view text) {
  auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t size = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  if (size == 0 || text.size() < size) return {};
  char32_t character = first & (0x7Fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0u) != 0x80u) return {};
    character = (character << 6) | (byte(i) & 0x3Fu);
  }
  static constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = character >= 0xD800 && character < 0xE000;
  if (character < kLeast[size] || character > 0x10FFFF || surrogate) return {};
  return {character, size};
}

class Characters {
 public:
  explicit Characters(const CharacterRules& rules) : properties_(rules.properties) {
    if (properties_.size() < 0x80 || rules.folded.size() != rules.folds.size()) {
      throw std::invalid_argument("the tables are not those of corpus_native.py");
    }
    for (std::size_t i = 0; i < rules.folds.size(); ++i) folds_.emplace(rules.folded[i], rules.folds[i]);
  }

  std::uint8_t operator[](char32_t character) const {
    return character < properties_.size() ? properties_[character] : std::uint8_t{0};
  }
  std::uint8_t ascii(char byte) const { return properties_[static_cast<unsigned char>(byte)]; }

  // Whether `text` is UTF-8, and of known characters alone.
  bool know(std::string_view text) const {
    while (!text.empty()) {
      text.remove_prefix(ascii_prefix(text));
      while (!text.empty() && static_cast<unsigned char>(text[0]) >= 0x80) {
        const Decoded next = decode(text);
        if (next.bytes == 0 || !((*this)[next.character] & kKnown)) return false;
        text.remove_prefix(next.bytes);
      }
    }
    return true;
  }

  // `text` (known characters) without the spaces at its end.
  std::string_view without_spaces_behind(std::string_view text) const {
    while (!text.empty()) {
      std::size_t begin = text.size() - 1;
      while ((static_cast<unsigned char>(text[begin]) & 0xC0u) == 0x80u) --begin;
      if (!((*this)[decode(text.substr(begin)).character] & kSpace)) break;
      text = text.substr(0, begin);
    }
    return text;
  }

  void append_folded(std::string_view word, std::string* out) const {
    while (!word.empty()) {
      const Decoded next = decode(word);
      if ((*this)[next.character] & kFolded) {
        out->append(folds_.at(next.character));
      } else {
        out->append(word.substr(0, next.bytes));
      }
      word.remove_prefix(next.bytes);
    }
  }

 private:
  // Bytes at the beginning that are ASCII; it may stop up to 7 bytes early.
  static std::size_t ascii_prefix(std::string_view text) {
    std::size_t size = 0;
    for (std::uint64_t eight; size + sizeof(eight) <= text.size(); size += sizeof(eight)) {
      std::memcpy(&eight, text.data() + size, sizeof(eight));
      if (eight & 0x8080808080808080u) break;
    }
    while (size < text.size() && static_cast<unsigned char>(text[size]) < 0x80) ++size;
    return size;
  }

  std::span<const std::uint8_t> properties_;
  std::unordered_map<char32_t, std::string_view> folds_;
};

}  // namespace corpus
