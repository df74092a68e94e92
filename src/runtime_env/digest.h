// Digest: SHA-256 over parts that cannot run into each other: each is preceded by its length.
//
// Threading:  one thread.
// Ownership:  owns the state of the computation.
// Failure:    none; it aborts when there is no memory for it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace fray::runtime_env {

class Digest {
 public:
  Digest();
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  Digest& add(std::string_view part);
  // A part in pieces: its size, then its bytes.
  Digest& begin(std::uint64_t size);
  Digest& bytes(const void* data, std::size_t size);
  // 32 hexadecimal digits: the first half of the sum. Ends the computation.
  std::string text();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fray::runtime_env
