// ByteWriter and ByteReader: write fixed structures, strings and counts to a byte string, and read them from one.
//
// Threading:  values; one thread each.
// Ownership:  ByteWriter appends to a string it does not own; ByteReader looks into bytes that must outlive it, and so
//             must the string_views it returns.
// Failure:    a reader that runs past the end returns zeros and empty views and stays failed, so that a caller need
//             check ok() only once, at the end.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace fray::wire {

class ByteWriter {
 public:
  explicit ByteWriter(std::string& out) : out_(out) {}

  template <typename T>
    requires std::is_trivially_copyable_v<T>
  void put(const T& value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  void put_raw(std::string_view bytes) { out_.append(bytes); }
  // A length of 32 bits, then the bytes.
  void put_string(std::string_view bytes) {
    put(static_cast<std::uint32_t>(bytes.size()));
    out_.append(bytes);
  }

 private:
  std::string& out_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
    requires std::is_trivially_copyable_v<T>
  T get() {
    T value{};
    if (bytes_.size() < sizeof(T)) {
      fail();
      return value;
    }
    std::memcpy(&value, bytes_.data(), sizeof(T));
    bytes_.remove_prefix(sizeof(T));
    return value;
  }
  std::string_view get_raw(std::size_t size) {
    if (bytes_.size() < size) {
      fail();
      return {};
    }
    std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }
  std::string_view get_string() { return get_raw(get<std::uint32_t>()); }
  // A count that is followed by that many items of at least `item_size` bytes. It fails when there are not so many
  // bytes, so that a caller may reserve memory for the items.
  std::uint32_t get_count(std::size_t item_size) {
    auto count = get<std::uint32_t>();
    if (item_size != 0 && count > bytes_.size() / item_size) {
      fail();
      return 0;
    }
    return count;
  }

  bool ok() const { return ok_; }
  bool done() const { return ok_ && bytes_.empty(); }
  std::size_t left() const { return bytes_.size(); }
  void fail() {
    ok_ = false;
    bytes_ = {};
  }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

}  // namespace fray::wire
