// FuzzScript: reads the input of a fuzz target as a list of choices. Past its end every choice is the first one.
//
// Threading:  one thread.
// Ownership:  looks into the input, which must outlive it.
// Failure:    none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fray {

class FuzzScript {
 public:
  FuzzScript(const std::uint8_t* data, std::size_t size) : left_(reinterpret_cast<const char*>(data), size) {}

  bool is_over() const { return left_.empty(); }
  std::uint8_t byte() {
    if (left_.empty()) return 0;
    auto first = static_cast<std::uint8_t>(left_.front());
    left_.remove_prefix(1);
    return first;
  }
  // From 0 to `choices` - 1; `choices` is 256 at most.
  std::uint32_t below(std::uint32_t choices) { return byte() % choices; }
  // Seldom true: an input has to ask for it.
  bool rarely() { return byte() == 0xFF; }
  std::string_view bytes(std::size_t most) {
    std::size_t size = std::min({most, left_.size(), static_cast<std::size_t>(byte())});
    size = std::min(size, left_.size());
    std::string_view taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }

 private:
  std::string_view left_;
};

}  // namespace fray
