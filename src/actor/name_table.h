// NameTable: which living actor has which name. A name belongs to a namespace and to at most one actor at a time.
//
// Threading:  confined to the ActorTable that owns it.
// Ownership:  owns its names.
// Failure:    for a text that cannot be a name, and for a name that no actor has, the Status says which names there can
//             be.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/ids.h"

namespace fray::actor {

struct NamedActor {
  std::string name_space;
  std::string name;
  ActorId actor;
  friend bool operator==(const NamedActor&, const NamedActor&) = default;
};

class NameTable {
 public:
  static constexpr std::size_t kMostBytes = 256;

  // Names and namespaces alike: 1 to kMostBytes bytes of UTF-8 without control characters. `what` opens the message.
  static Status check(std::string_view what, std::string_view name);

  std::optional<ActorId> find(std::string_view name_space, std::string_view name) const;
  // False when another actor has it.
  bool claim(std::string_view name_space, std::string_view name, ActorId actor);
  void release(std::string_view name_space, std::string_view name);

  // Nobody has this name: says so, with names near to it and with namespaces that know it.
  Status unknown(std::string_view name_space, std::string_view name) const;
  // In the order of namespace and name; of all namespaces when none is given.
  std::vector<NamedActor> list(std::optional<std::string_view> name_space) const;
  std::size_t size() const;

 private:
  using Names = std::map<std::string, ActorId, std::less<>>;
  std::vector<std::string> near(std::string_view name_space, std::string_view name) const;

  std::map<std::string, Names, std::less<>> namespaces_;
};

}  // namespace fray::actor
