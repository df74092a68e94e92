// Any bytes into every decoder of messages: none may crash, read outside or take absurd memory, and what is read is
// written as it was read. libFuzzer changes messages field by field, through the lists of their fields.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "wire/direct.h"
#include "wire/failure.h"
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

// Changes one field of a message, or of what is in it.
class Changer {
 public:
  explicit Changer(std::uint32_t seed) : random_(seed) {}

  std::uint32_t below(std::size_t limit) { return static_cast<std::uint32_t>(random_() % limit); }

  template <ListsFields T>
  void change(T& value) {
    std::size_t fields = 0;
    T::visit(value, [&](const char*, auto&) { ++fields; });
    if (fields == 0) return;
    std::size_t left = below(fields);
    T::visit(value, [&](const char*, auto& field) {
      if (left-- == 0) change(field);
    });
  }

  void change(std::string& text) {
    if (!text.empty() && below(3) == 0) return text.resize(below(text.size()));
    text.insert(below(text.size() + 1), 1 + below(8), static_cast<char>(below(256)));
  }
  void change(bool& flag) { flag = !flag; }
  template <Plain T>
  void change(T& value) {
    auto* bytes = reinterpret_cast<unsigned char*>(&value);
    bytes[below(sizeof(T))] = static_cast<unsigned char>(below(256));
  }
  template <typename T>
    requires std::is_enum_v<T>
  void change(T& value) {
    value = static_cast<T>(below(static_cast<std::size_t>(last_of(T())) + 1));
  }
  template <typename A, typename B>
  void change(std::pair<A, B>& pair) {
    below(2) == 0 ? change(pair.first) : change(pair.second);
  }
  template <typename T>
  void change(std::vector<T>& items) {
    if (items.empty() || below(3) == 0) items.emplace_back();
    if (below(4) == 0) return items.pop_back();
    change(items[below(items.size())]);
  }
  template <typename K, typename V, typename Less>
  void change(std::map<K, V, Less>& items) {
    std::pair<K, V> item;
    change(item.first);
    change(item.second);
    items.insert_or_assign(std::move(item.first), std::move(item.second));
  }
  void change(Value& value) {
    change(value.encoding);
    change(value.bytes);
    change(value.nested);
  }
  void change(fray::ResourceSet& resources) { resources.set_units("CPU", below(100'000)); }

 private:
  std::minstd_rand random_;
};

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
  Changer changer(seed);
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
