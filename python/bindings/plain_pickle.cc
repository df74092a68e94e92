#include "plain_pickle.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

namespace fray::python {

namespace {

constexpr int kDeepest = 200;
constexpr Py_ssize_t kTogether = 1000;  // items that the unpickler gets at once, as from Python's pickler

// The operations of a pickle, by their names in Python's pickletools.
enum Op : std::uint8_t {
  kMark = '(',
  kStop = '.',
  kNone = 'N',
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kLong1 = 0x8a,
  kBinFloat = 'G',
  kShortBinUnicode = 0x8c,
  kBinUnicode = 'X',
  kBinUnicode8 = 0x8d,
  kShortBinBytes = 'C',
  kBinBytes = 'B',
  kBinBytes8 = 0x8e,
  kEmptyList = ']',
  kAppend = 'a',
  kAppends = 'e',
  kEmptyDict = '}',
  kSetItem = 's',
  kSetItems = 'u',
  kEmptySet = 0x8f,
  kAddItems = 0x90,
  kFrozenSet = 0x91,
  kEmptyTuple = ')',
  kTuple1 = 0x85,
  kTuple = 't',
  kProto = 0x80,
  kMemoize = 0x94,
  kBinGet = 'h',
  kLongBinGet = 'j',
};
constexpr std::uint8_t kProtocol = 4;

bool is_text(PyObject* value) { return PyUnicode_CheckExact(value) || PyBytes_CheckExact(value); }

bool is_number(PyObject* value) {
  return value == Py_None || PyBool_Check(value) || PyLong_CheckExact(value) || PyFloat_CheckExact(value);
}

bool is_set(PyObject* value) { return PyAnySet_CheckExact(value); }

bool is_container(PyObject* value) {
  return PyList_CheckExact(value) || PyTuple_CheckExact(value) || PyDict_CheckExact(value) || is_set(value);
}

// Calls `visit` with each item until it returns false; with keys and values of a dict in turns. False then. Makes no object,
// for then the garbage collector, and with it code of the program, could run.
template <typename Visit>
bool for_each(PyObject* container, Visit visit) {
  if (PyDict_CheckExact(container)) {
    Py_ssize_t place = 0;
    PyObject *key = nullptr, *value = nullptr;
    while (PyDict_Next(container, &place, &key, &value)) {
      if (!visit(key) || !visit(value)) return false;
    }
    return true;
  }
  if (is_set(container)) {
    const auto* set = reinterpret_cast<PySetObject*>(container);
    for (Py_ssize_t i = 0; i <= set->mask; ++i) {
      const setentry& entry = set->table[i];
      const bool is_member = entry.key != nullptr && entry.hash != -1;  // -1: there was one
      if (is_member && !visit(entry.key)) return false;
    }
    return true;
  }
  PyObject** items = PySequence_Fast_ITEMS(container);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(container); ++i) {
    if (!visit(items[i])) return false;
  }
  return true;
}

// What comes again in a value, and what its number is in the unpickler's table.
class Repeated {
 public:
  static constexpr std::int64_t kOnce = -1;       // so far
  static constexpr std::int64_t kUnwritten = -2;  // comes again
  static constexpr std::int64_t kBegun = -3;      // a tuple: its items come before it

  // Looks at all that is in `root`. False: there is something that is not plain.
  bool find(PyObject* root) {
    std::vector<PyObject*> to_do;
    auto look = [&](PyObject* value) {
      if (is_number(value)) return true;
      const bool is_first = Py_REFCNT(value) == 1 || note(value);
      if (is_text(value)) return true;
      if (!is_container(value)) return false;
      if (is_first) to_do.push_back(value);
      return true;
    };
    bool is_plain = look(root);
    while (is_plain && !to_do.empty()) {
      PyObject* next = to_do.back();
      to_do.pop_back();
      is_plain = for_each(next, look);
    }
    return is_plain;
  }

  // Null for what comes once.
  std::int64_t* find_state(PyObject* value) {
    if (repeated_ == 0 || Py_REFCNT(value) == 1) return nullptr;
    Slot& slot = slot_of(value);
    return slot.object == nullptr || slot.state == kOnce ? nullptr : &slot.state;
  }

 private:
  struct Slot {
    PyObject* object = nullptr;
    std::int64_t state = kOnce;
  };

  // Whether the object had not been noted.
  bool note(PyObject* value) {
    if (2 * noted_ >= slots_.size()) grow();
    Slot& slot = slot_of(value);
    if (slot.object == nullptr) {
      slot.object = value;
      ++noted_;
      return true;
    }
    if (slot.state == kOnce) ++repeated_;
    slot.state = kUnwritten;
    return false;
  }

  Slot& slot_of(PyObject* value) {
    constexpr std::uint64_t kMixer = 0x9e3779b97f4a7c15;
    std::size_t place = (reinterpret_cast<std::uintptr_t>(value) >> 4) * kMixer >> shift_;
    while (slots_[place].object != nullptr && slots_[place].object != value) place = (place + 1) & (slots_.size() - 1);
    return slots_[place];
  }

  void grow() {
    std::vector<Slot> before = std::exchange(slots_, std::vector<Slot>(slots_.empty() ? 64 : 2 * slots_.size()));
    shift_ = 64 - std::countr_zero(slots_.size());
    for (const Slot& each : before) {
      if (each.object != nullptr) slot_of(each.object) = each;
    }
  }

  std::vector<Slot> slots_;  // a power of two of them
  int shift_ = 0;
  std::size_t noted_ = 0;
  std::size_t repeated_ = 0;
};

// Bytes that grow at the end.
class Output {
 public:
  bool begin() {
    bytes_ = Owned(PyBytes_FromStringAndSize(nullptr, 128));
    return static_cast<bool>(bytes_);
  }

  bool add(const void* data, std::size_t size) {
    char* to = next(size);
    if (to == nullptr) return false;
    std::memcpy(to, data, size);
    return true;
  }

  bool add(Op op) { return add(&op, 1); }

  // The operation and a number of `bytes` bytes, the lowest first.
  bool add(Op op, std::uint64_t number, std::size_t bytes) {
    static_assert(std::endian::native == std::endian::little);
    char* to = next(1 + sizeof number);
    if (to == nullptr) return false;
    *to = static_cast<char>(op);
    std::memcpy(to + 1, &number, sizeof number);  // to copy a known size takes one instruction
    size_ -= sizeof number - bytes;
    return true;
  }

  Owned finish() {
    PyObject* made = bytes_.release();
    return Owned(_PyBytes_Resize(&made, static_cast<Py_ssize_t>(size_)) == 0 ? made : nullptr);
  }

 private:
  // Null with a MemoryError.
  char* next(std::size_t size) {
    const auto room = static_cast<std::size_t>(PyBytes_GET_SIZE(bytes_.get()));
    if (size > room - size_) {
      PyObject* grown = bytes_.release();
      const int failed = _PyBytes_Resize(&grown, static_cast<Py_ssize_t>(2 * room + size));
      bytes_ = Owned(grown);
      if (failed != 0) return nullptr;
    }
    return PyBytes_AS_STRING(bytes_.get()) + std::exchange(size_, size_ + size);
  }

  Owned bytes_;
  std::size_t size_ = 0;
};

class PlainPickler {
 public:
  Owned run(PyObject* root) {
    const std::uint64_t protocol = kProtocol;
    if (!repeated_.find(root) || !output_.begin()) return {};
    if (!output_.add(kProto, protocol, 1) || !write(root, 0) || !output_.add(kStop)) return {};
    return output_.finish();
  }

 private:
  // Each of these is false where the value is not for this pickler, or with an exception set.

  bool write(PyObject* value, int depth) {
    if (value == Py_None) return output_.add(kNone);
    if (PyBool_Check(value)) return output_.add(value == Py_True ? kNewTrue : kNewFalse);
    if (PyLong_CheckExact(value)) return write_int(value);
    if (PyFloat_CheckExact(value)) return write_float(PyFloat_AS_DOUBLE(value));
    std::int64_t* state = repeated_.find_state(value);
    if (state != nullptr && *state >= 0) return write_number_of(static_cast<std::uint64_t>(*state));
    if (state != nullptr && *state == Repeated::kBegun) return false;  // it is in itself
    if (is_text(value)) return write_text(value) && keep(state);
    if (depth == kDeepest) return false;
    if (PyTuple_CheckExact(value) || PyFrozenSet_CheckExact(value)) {
      if (state != nullptr) *state = Repeated::kBegun;
      return (PyTuple_CheckExact(value) ? write_tuple(value, depth) : write_frozen_set(value, depth)) && keep(state);
    }
    const bool is_list = PyList_CheckExact(value);
    const bool is_dict = PyDict_CheckExact(value);
    if (!output_.add(is_list ? kEmptyList : is_dict ? kEmptyDict : kEmptySet) || !keep(state)) return false;
    if (is_list) return write_items(value, 1, kAppend, kAppends, depth);
    if (is_dict) return write_items(value, 2, kSetItem, kSetItems, depth);
    return write_items(value, 1, kAddItems, kAddItems, depth);
  }

  // From here on it can be referred to by its number.
  bool keep(std::int64_t* state) {
    if (state == nullptr) return true;
    *state = kept_++;
    return output_.add(kMemoize);
  }

  bool write_number_of(std::uint64_t number) {
    if (number <= std::numeric_limits<std::uint8_t>::max()) return output_.add(kBinGet, number, 1);
    return number <= std::numeric_limits<std::uint32_t>::max() && output_.add(kLongBinGet, number, 4);
  }

  bool write_int(PyObject* value) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow != 0) return false;
    const auto bits = static_cast<std::uint64_t>(number);
    if (number >= 0 && number <= std::numeric_limits<std::uint8_t>::max()) return output_.add(kBinInt1, bits, 1);
    if (number >= 0 && number <= std::numeric_limits<std::uint16_t>::max()) return output_.add(kBinInt2, bits, 2);
    if (number == static_cast<std::int32_t>(number)) return output_.add(kBinInt, bits, 4);
    return output_.add(kLong1, sizeof bits, 1) && output_.add(&bits, sizeof bits);
  }

  bool write_float(double value) {
    auto bits = std::bit_cast<std::uint64_t>(value);
    return output_.add(kBinFloat, __builtin_bswap64(bits), sizeof bits);  // the highest byte first
  }

  bool write_text(PyObject* value) {
    if (PyBytes_CheckExact(value)) {
      const auto size = static_cast<std::size_t>(PyBytes_GET_SIZE(value));
      return write_sized({PyBytes_AS_STRING(value), size}, kShortBinBytes, kBinBytes, kBinBytes8);
    }
    if (PyUnicode_IS_COMPACT_ASCII(value)) {
      const auto size = static_cast<std::size_t>(PyUnicode_GET_LENGTH(value));
      return write_utf8({static_cast<const char*>(PyUnicode_DATA(value)), size});
    }
    Owned encoded(PyUnicode_AsEncodedString(value, "utf-8", "surrogatepass"));
    return encoded &&
           write_utf8({PyBytes_AS_STRING(encoded.get()), static_cast<std::size_t>(PyBytes_GET_SIZE(encoded.get()))});
  }

  bool write_utf8(std::string_view text) { return write_sized(text, kShortBinUnicode, kBinUnicode, kBinUnicode8); }

  bool write_sized(std::string_view bytes, Op with_1, Op with_4, Op with_8) {
    const std::uint64_t size = bytes.size();
    const bool is_begun = size <= std::numeric_limits<std::uint8_t>::max()    ? output_.add(with_1, size, 1)
                          : size <= std::numeric_limits<std::uint32_t>::max() ? output_.add(with_4, size, 4)
                                                                              : output_.add(with_8, size, 8);
    return is_begun && output_.add(bytes.data(), bytes.size());
  }

  bool write_all(PyObject* container, int depth) {
    return for_each(container, [&](PyObject* item) { return write(item, depth + 1); });
  }

  bool write_tuple(PyObject* tuple, int depth) {
    const Py_ssize_t size = PyTuple_GET_SIZE(tuple);
    if (size == 0) return output_.add(kEmptyTuple);
    if (size <= 3) return write_all(tuple, depth) && output_.add(static_cast<Op>(kTuple1 + size - 1));
    return output_.add(kMark) && write_all(tuple, depth) && output_.add(kTuple);
  }

  bool write_frozen_set(PyObject* set, int depth) {
    return output_.add(kMark) && write_all(set, depth) && output_.add(kFrozenSet);
  }

  // What is in a list, a set, or a dict, whose items have two parts.
  bool write_items(PyObject* container, int parts, Op one, Op many, int depth) {
    const Py_ssize_t size = PyDict_CheckExact(container) ? PyDict_GET_SIZE(container)
                            : is_set(container)          ? PySet_GET_SIZE(container)
                                                         : PyList_GET_SIZE(container);
    if (size == 1 && one != many) return write_all(container, depth) && output_.add(one);
    Py_ssize_t left = 0;  // until the items so far are handed over
    const bool is_whole = for_each(container, [&](PyObject* item) {
      if (left == 0 && !output_.add(kMark)) return false;
      if (left == 0) left = parts * kTogether;
      return write(item, depth + 1) && (--left > 0 || output_.add(many));
    });
    return is_whole && (left == 0 || output_.add(many));
  }

  Repeated repeated_;
  Output output_;
  std::int64_t kept_ = 0;
};

}  // namespace

Owned pickle_plain(PyObject* value) { return is_container(value) ? PlainPickler().run(value) : Owned(); }

}  // namespace fray::python
