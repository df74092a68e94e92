// WordHashes: the hash of each word that was met, by its bytes: text repeats its words, and BLAKE2b of each of them would be
// most of the work.
//
// Threading:  one thread.
// Ownership:  owns copies of the words.
// Failure:    none; above kMostWords it forgets all and begins anew.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "blake2b.h"
#include "characters.h"

namespace corpus {

class WordHashes {
 public:
  // 64 bits of a word, upper and lower case being the same.
  std::uint64_t of(std::string_view word, const Characters& characters) {
    const std::uint64_t mark = mark_of(word);
    for (std::size_t at = mark & mask_;; at = (at + 1) & mask_) {
      Slot& slot = slots_[at];
      if (slot.size == 0) return add(word, mark, characters);
      if (slot.mark == mark && slot.size == word.size() &&
          std::memcmp(&bytes_[slot.begin], word.data(), slot.size) == 0) {
        return slot.hash;
      }
    }
  }

 private:
  static constexpr std::size_t kMostWords = 1 << 18;
  struct Slot {
    std::uint64_t mark = 0;
    std::uint64_t hash = 0;
    std::uint32_t begin = 0;
    std::uint32_t size = 0;  // 0: the slot is free; no word is empty
  };

  // Any numbers that scatter words will do: what is in a slot is compared.
  static std::uint64_t mark_of(std::string_view word) {
    std::uint64_t mark = word.size();
    auto mix = [&](const char* from, std::size_t size) {
      std::uint64_t eight = 0;
      std::memcpy(&eight, from, size);
      mark = (mark ^ eight) * 0x9E3779B97F4A7C15u;
      mark ^= mark >> 29;
    };
    const char* at = word.data();
    std::size_t left = word.size();
    for (; left >= 8; left -= 8, at += 8) mix(at, 8);
    if (left & 4) mix(at, 4);
    if (left & 3) mix(at + (left & 4), left & 3);
    return mark ^ (mark >> 32);
  }

  std::uint64_t add(std::string_view word, std::uint64_t mark, const Characters& characters) {
    if (count_ == kMostWords || bytes_.size() + word.size() > UINT32_MAX) *this = WordHashes();
    if (2 * ++count_ > slots_.size()) grow();
    folded_.clear();
    characters.append_folded(word, &folded_);
    Slot slot{mark, hash_of(folded_), static_cast<std::uint32_t>(bytes_.size()),
              static_cast<std::uint32_t>(word.size())};
    bytes_.append(word);
    place(slot);
    return slot.hash;
  }
  void place(const Slot& slot) {
    std::size_t at = slot.mark & mask_;
    while (slots_[at].size != 0) at = (at + 1) & mask_;
    slots_[at] = slot;
  }
  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    for (const Slot& slot : old) {
      if (slot.size != 0) place(slot);
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(1 << 12);
  std::size_t mask_ = (1 << 12) - 1;
  std::size_t count_ = 0;
  std::string bytes_;
  std::string folded_;
};

}  // namespace corpus
