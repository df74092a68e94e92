// The payload of a function, as it travels to workers: its kind, after how many calls its worker retires, and the
// function.
//
//   kind(1) max_calls(4) what the kind says
//
// A large one is an object, and what travels is where that lies.
//
// Threading:  pure.
// Ownership:  a payload is a string.
// Failure:    kind_of() of bytes that are no payload is kPickle; the worker then fails to unpickle them, and says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "wire/value.h"

namespace fray::wire {

enum class FunctionKind : std::uint8_t {
  kPythonName = 0,   // "module:qualname"
  kPickle = 1,       // a pickled callable
  kMethod = 2,       // the name of a method of a Python actor
  kCpp = 3,          // the name of a registered C++ function
  kCppMethod = 4,    // the name of a method of a C++ actor
  kCppRetrying = 5,  // as kCpp, tried again when it fails
  kStored = 6,       // where an object lies (wire/value.h): a pickled callable and its arrays
};
constexpr FunctionKind last_of(FunctionKind) { return FunctionKind::kStored; }

constexpr bool is_cpp(FunctionKind kind) {
  return kind == FunctionKind::kCpp || kind == FunctionKind::kCppMethod || kind == FunctionKind::kCppRetrying;
}

// The bytes before the function itself. `max_calls`: calls after which a Python worker retires; 0: it does not retire.
inline constexpr std::size_t kPayloadPrefix = 1 + sizeof(std::uint32_t);

inline std::string function_payload(FunctionKind kind, std::uint32_t max_calls, std::string_view what) {
  std::string payload;
  payload.reserve(kPayloadPrefix + what.size());
  payload.push_back(static_cast<char>(kind));
  payload.append(reinterpret_cast<const char*>(&max_calls), sizeof(max_calls));
  payload.append(what);
  return payload;
}

inline FunctionKind kind_of(std::string_view payload) {
  return payload.size() < kPayloadPrefix ? FunctionKind::kPickle : static_cast<FunctionKind>(payload.front());
}

// The bytes of a function: those of its payload and of the object, if it is one.
inline std::size_t function_bytes(std::string_view payload) {
  if (kind_of(payload) != FunctionKind::kStored) return payload.size();
  ByteReader in(payload.substr(kPayloadPrefix));
  return payload.size() + decode_value(in).location.size;
}

}  // namespace fray::wire
