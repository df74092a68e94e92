// Any bytes into every decoder of messages: none may crash, read outside or take absurd memory, and what is read is
// written as it was read. libFuzzer changes messages field by field, through the lists of their fields.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "wire/direct.h"
#include "wire/failure.h"
#include "wire/message_changer_test.h"
#include "wire/messages.h"

namespace {

using namespace fray::wire;

template <typename Body>
void read_and_write(std::string_view bytes) {
  auto read = fray::wire::decode<Body>(bytes);
  if (!read.is_ok()) return;
  const std::string written = encoded(*read);
  auto again = fray::wire::decode<Body>(written);
  if (!again.is_ok() || encoded(*again) != written) std::abort();
}

// Calls visit.operator()<Body>() for each body once or more.
void for_each_body(auto&& visit) {
  visit_messages(
      [&](const auto& message) { visit.template operator()<typename std::remove_cvref_t<decltype(message)>::Body>(); });
  visit.template operator()<ActorDeath>();
  visit.template operator()<Failure>();
  visit.template operator()<Returned>();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  for_each_body([&]<typename Body>() {
    if constexpr (!std::is_same_v<Body, NoBody>) read_and_write<Body>(body);
  });
  ByteReader in(body);
  while (in.ok() && in.left() > 0) {
    ValueView value = decode_value(in);
    if (in.ok()) (void)value.to_value();
  }
  return 0;
}

// A message that the bytes are, or else a new one, with one field changed; now and then with a byte changed after all.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned int seed) {
  MessageChanger changer(seed);
  const std::string_view given(reinterpret_cast<const char*>(data), size);
  std::vector<std::size_t> readable;
  std::size_t bodies = 0;
  for_each_body([&]<typename Body>() {
    if (fray::wire::decode<Body>(given).is_ok()) readable.push_back(bodies);
    ++bodies;
  });
  const bool anew = readable.empty() || changer.below(16) == 0;
  std::size_t left = anew ? changer.below(bodies) : readable[changer.below(readable.size())];
  std::string bytes;
  for_each_body([&]<typename Body>() {
    if (left-- != 0) return;
    if constexpr (ListsFields<Body>) {
      auto read = fray::wire::decode<Body>(given);
      Body body = read.is_ok() ? std::move(read).value() : Body();
      changer.change(body);
      bytes = encoded(body);
    }
  });
  if (!bytes.empty() && changer.below(4) == 0)
    bytes[changer.below(bytes.size())] = static_cast<char>(changer.below(256));
  bytes.resize(std::min(bytes.size(), most));
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}
