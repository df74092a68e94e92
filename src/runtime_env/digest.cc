#include "runtime_env/digest.h"

#include <array>
#include <cstdint>

#include <openssl/evp.h>

#include "base/check.h"

namespace fray::runtime_env {

struct Digest::State {
  EVP_MD_CTX* context = ::EVP_MD_CTX_new();
  ~State() { ::EVP_MD_CTX_free(context); }
};

Digest::Digest() : state_(std::make_unique<State>()) {
  FRAY_CHECK(state_->context != nullptr && ::EVP_DigestInit_ex(state_->context, ::EVP_sha256(), nullptr) == 1,
             "SHA-256 is there");
}

Digest::~Digest() = default;

Digest& Digest::add(std::string_view part) { return begin(part.size()).bytes(part.data(), part.size()); }

Digest& Digest::begin(std::uint64_t size) { return bytes(&size, sizeof(size)); }

Digest& Digest::bytes(const void* data, std::size_t size) {
  FRAY_CHECK(::EVP_DigestUpdate(state_->context, data, size) == 1, "SHA-256 takes all bytes");
  return *this;
}

std::string Digest::text() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> sum{};
  unsigned int size = 0;
  FRAY_CHECK(::EVP_DigestFinal_ex(state_->context, sum.data(), &size) == 1, "SHA-256 ends");
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (unsigned int i = 0; i < size / 2; ++i) {
    text += kDigits[sum[i] >> 4];
    text += kDigits[sum[i] & 15];
  }
  return text;
}

}  // namespace fray::runtime_env
