#include "main_reference.h"

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace fray::python {

namespace {

// The main script is `__main__`, or `__mp_main__` in a process that multiprocessing has spawned.
bool names_main(std::string_view text) { return ::memmem(text.data(), text.size(), "_main__", 7) != nullptr; }

// What follows the code of an instruction: so many bytes, or so many bytes of a number that says how many more follow.
struct Operand {
  std::uint8_t fixed = 0;
  std::uint8_t counted = 0;
};

// The instructions that the picklers of the standard library write; see `pickletools`.
std::optional<Operand> operand_of(std::uint8_t code) {
  switch (code) {
    case 'K':   // BININT1
    case 'h':   // BINGET
    case 0x80:  // PROTO
    case 0x82:  // EXT1
      return Operand{1, 0};
    case 'M':   // BININT2
    case 0x83:  // EXT2
      return Operand{2, 0};
    case 'J':   // BININT
    case 'j':   // LONG_BINGET
    case 0x84:  // EXT4
      return Operand{4, 0};
    case 'G':   // BINFLOAT
    case 0x95:  // FRAME
      return Operand{8, 0};
    case 'C':   // SHORT_BINBYTES
    case 0x8a:  // LONG1
    case 0x8c:  // SHORT_BINUNICODE
      return Operand{0, 1};
    case 'B':   // BINBYTES
    case 'X':   // BINUNICODE
    case 0x8b:  // LONG4
      return Operand{0, 4};
    case 0x8d:  // BINUNICODE8
    case 0x8e:  // BINBYTES8
    case 0x96:  // BYTEARRAY8
      return Operand{0, 8};
    case '(':   // MARK
    case ')':   // EMPTY_TUPLE
    case '.':   // STOP
    case '0':   // POP
    case '1':   // POP_MARK
    case 'N':   // NONE
    case 'R':   // REDUCE
    case ']':   // EMPTY_LIST
    case 'a':   // APPEND
    case 'b':   // BUILD
    case 'e':   // APPENDS
    case 's':   // SETITEM
    case 't':   // TUPLE
    case 'u':   // SETITEMS
    case '}':   // EMPTY_DICT
    case 0x81:  // NEWOBJ
    case 0x85:  // TUPLE1
    case 0x86:  // TUPLE2
    case 0x87:  // TUPLE3
    case 0x88:  // NEWTRUE
    case 0x89:  // NEWFALSE
    case 0x8f:  // EMPTY_SET
    case 0x90:  // ADDITEMS
    case 0x91:  // FROZENSET
    case 0x92:  // NEWOBJ_EX
    case 0x93:  // STACK_GLOBAL
    case 0x94:  // MEMOIZE
    case 0x97:  // NEXT_BUFFER
    case 0x98:  // READONLY_BUFFER
      return Operand{};
    default:
      return std::nullopt;
  }
}

std::uint64_t number_in(std::string_view bytes) {
  std::uint64_t number = 0;
  std::memcpy(&number, bytes.data(), bytes.size());  // little-endian, as all machines that Fray runs on
  return number;
}

// Goes through a pickle and keeps of its stack the two texts on top, and of its memo the texts. A class or a function is
// two texts, its module and its name, and STACK_GLOBAL right behind them.
class Walk {
 public:
  explicit Walk(std::string_view pickle) : left_(pickle) {}

  std::optional<std::set<std::string_view>> names() {
    std::set<std::string_view> found;
    while (!left_.empty()) {
      const auto code = static_cast<std::uint8_t>(left_.front());
      left_.remove_prefix(1);
      const std::optional<std::string_view> operand = take(code);
      if (!operand) return std::nullopt;
      if (code == 0x93 && names_main(below_)) found.insert(top_);
      note(code, *operand);
    }
    return found;
  }

 private:
  std::optional<std::string_view> take(std::uint8_t code) {
    const std::optional<Operand> kind = operand_of(code);
    if (!kind) return std::nullopt;
    std::uint64_t length = kind->fixed;
    if (kind->counted > 0) {
      if (left_.size() < kind->counted) return std::nullopt;
      length = number_in(left_.substr(0, kind->counted));
      left_.remove_prefix(kind->counted);
    }
    if (left_.size() < length) return std::nullopt;
    const std::string_view operand = left_.substr(0, length);
    left_.remove_prefix(length);
    return operand;
  }

  void note(std::uint8_t code, std::string_view operand) {
    switch (code) {
      case 'X':   // BINUNICODE
      case 0x8c:  // SHORT_BINUNICODE
      case 0x8d:  // BINUNICODE8
        return push(operand);
      case 'h':    // BINGET
      case 'j': {  // LONG_BINGET
        const std::uint64_t place = number_in(operand);
        return push(place < memo_.size() ? memo_[place] : std::string_view());
      }
      case 0x95:  // FRAME, which may begin between two texts
        return;
      case 0x94:  // MEMOIZE
        return memo_.push_back(top_);
      default:
        below_ = top_ = {};
    }
  }

  void push(std::string_view text) { below_ = std::exchange(top_, text); }

  std::string_view left_;
  std::string_view top_;  // empty for what is no text
  std::string_view below_;
  std::vector<std::string_view> memo_;
};

}  // namespace

std::optional<std::set<std::string_view>> names_in_main(std::string_view pickle) {
  if (!names_main(pickle)) return std::set<std::string_view>();
  return Walk(pickle).names();
}

bool refers_to_main(std::string_view pickle) {
  const std::optional<std::set<std::string_view>> names = names_in_main(pickle);
  return !names || !names->empty();
}

}  // namespace fray::python
