// Array<T>: a read-only array, usually in shared memory. Room<T>: memory of the store that a program fills.
//
//   fray::Array<double> samples = fray::get(ref).value_or_throw();   // the memory of the numpy array itself
//   double sum = std::accumulate(samples.begin(), samples.end(), 0.0);
//
//   auto room = fray::empty<float>({1000, 1000}).value_or_throw();   // memory of the store
//   fill(room.span());
//   fray::ObjectRef<fray::Array<float>> ref = fray::put(std::move(room));   // copies nothing
//
// Elements are bool, integers, floats and complex numbers, in row-major (C) order.
//
// Threading:  values; the elements of an array never change.
// Ownership:  an array keeps its memory, also after its ref, the session and the node have ended.
// Failure:    as<T>() returns kWrongType for an array of another type, and names both types.
#pragma once

#include <fray.h>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fray/status.h"

namespace fray {
inline namespace v1 {

namespace detail {

template <typename T>
constexpr std::string_view dtype_of() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, bool>) return "|b1";
  if constexpr (std::is_same_v<U, std::byte>) return "|u1";
  if constexpr (std::is_same_v<U, std::complex<float>>) return "<c8";
  if constexpr (std::is_same_v<U, std::complex<double>>) return "<c16";
  if constexpr (std::is_floating_point_v<U>) return sizeof(U) == 4 ? "<f4" : sizeof(U) == 8 ? "<f8" : "";
  if constexpr (std::is_integral_v<U> && std::is_signed_v<U>) {
    return sizeof(U) == 1 ? "|i1" : sizeof(U) == 2 ? "<i2" : sizeof(U) == 4 ? "<i4" : "<i8";
  }
  if constexpr (std::is_integral_v<U> && std::is_unsigned_v<U>) {
    return sizeof(U) == 1 ? "|u1" : sizeof(U) == 2 ? "<u2" : sizeof(U) == 4 ? "<u4" : "<u8";
  }
  return "";
}

}  // namespace detail

template <typename T>
concept Element = !detail::dtype_of<T>().empty();

template <Element T>
class Array;

// An array whose type of elements is known only when the program runs.
struct AnyArray {
  std::string dtype;
  std::vector<std::size_t> shape;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> memory;  // owns `bytes`

  // Returns the same memory as an array of T.
  template <Element T>
  Result<Array<T>> as() const;
};

// A read-only array of any number of dimensions.
template <Element T>
class Array {
 public:
  using value_type = T;

  Array() : shape_{0} {}
  // Copies the values.
  explicit Array(std::span<const T> values) : Array(values, {values.size()}) {}
  Array(std::span<const T> values, std::vector<std::size_t> shape) : shape_(std::move(shape)) {
    std::shared_ptr<T[]> copy(new T[values.size()]);
    std::copy(values.begin(), values.end(), copy.get());
    values_ = {copy.get(), values.size()};
    memory_ = std::move(copy);
  }
  // Refers to values that `memory` owns.
  Array(std::span<const T> values, std::vector<std::size_t> shape, std::shared_ptr<const void> memory)
      : values_(values), shape_(std::move(shape)), memory_(std::move(memory)) {}

  std::span<const T> span() const { return values_; }
  const T* data() const { return values_.data(); }
  std::size_t size() const { return values_.size(); }
  const std::vector<std::size_t>& shape() const { return shape_; }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  const T& operator[](std::size_t index) const { return values_[index]; }
  const T& operator()(std::size_t row, std::size_t column) const { return values_[row * shape_[1] + column]; }

 private:
  std::span<const T> values_;
  std::vector<std::size_t> shape_;
  std::shared_ptr<const void> memory_;
};

template <Element T>
Result<Array<T>> AnyArray::as() const {
  // An array of bytes can be read as any type of one byte, because char, int8_t and uint8_t are distinct types.
  if (dtype != detail::dtype_of<T>() && !(sizeof(T) == 1 && !std::is_same_v<T, bool> && dtype == "|u1")) {
    return Status(Code::kWrongType,
                  "the array has elements of dtype '" + dtype + "', not '" + std::string(detail::dtype_of<T>()) + "'");
  }
  std::span<const T> values(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T));
  return Array<T>(values, shape, memory);
}

// Memory of the store for an array, which the program fills and then puts. A Room can be moved but not copied.
template <Element T>
class Room {
 public:
  Room(fray_session* session, T* data, std::vector<std::size_t> shape, std::size_t size)
      : session_(session), values_(data, size), shape_(std::move(shape)) {
    fray_session_retain(session);
  }
  Room(Room&& other) noexcept
      : session_(std::exchange(other.session_, nullptr)), values_(other.values_), shape_(std::move(other.shape_)) {}
  Room& operator=(Room&&) = delete;
  ~Room() {
    if (session_ == nullptr) return;
    fray_room_leave(session_, values_.data());  // has no effect after a put
    fray_session_release(session_);
  }

  std::span<T> span() const { return values_; }
  T* data() const { return values_.data(); }
  std::size_t size() const { return values_.size(); }
  const std::vector<std::size_t>& shape() const { return shape_; }
  T& operator[](std::size_t index) const { return values_[index]; }
  fray_session* session() const { return session_; }

 private:
  fray_session* session_;
  std::span<T> values_;
  std::vector<std::size_t> shape_;
};

// Returns memory for an array of this shape, in the session of this process.
template <Element T>
Result<Room<T>> empty(std::vector<std::size_t> shape) {
  fray_session* session = fray_current_session();
  if (session == nullptr) return Status(Code::kUnavailable, "call fray::connect() first");
  std::size_t size = 1;
  for (std::size_t length : shape) size *= length;
  if (size == 0) return Status(Code::kInvalidArgument, "an array without elements needs no room; put an empty Array");
  void* memory = nullptr;
  if (int code = fray_room_make(session, size * sizeof(T), &memory); code != FRAY_OK) return Status::of(code);
  return Room<T>(session, static_cast<T*>(memory), std::move(shape), size);
}

}  // namespace v1
}  // namespace fray
