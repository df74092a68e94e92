#include "actor/name_table.h"

#include <cstdint>

#include <fmt/format.h>

#include "base/utf8.h"

namespace fray::actor {

namespace {

constexpr std::size_t kMostNear = 3;

bool is_control(std::uint32_t point) { return point < 0x20 || (point >= 0x7F && point < 0xA0); }

// Whether `b` can be made of `a` by inserting, removing or replacing at most `edits` letters.
bool within(std::string_view a, std::string_view b, int edits) {
  while (!a.empty() && !b.empty() && a[0] == b[0]) {
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  if (a.empty() || b.empty()) return a.size() + b.size() <= static_cast<std::size_t>(edits);
  if (edits == 0) return false;
  return within(a.substr(1), b.substr(1), edits - 1) || within(a.substr(1), b, edits - 1) ||
         within(a, b.substr(1), edits - 1);
}

std::string lower(std::string_view text) {
  std::string lowered(text);
  for (char& letter : lowered) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return lowered;
}

std::string quoted_list(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", text);
  return list;
}

}  // namespace

Status NameTable::check(std::string_view what, std::string_view name) {
  const auto refuse = [what](std::string_view why) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("{} {}: give 1 to {} bytes of text without control characters", what, why, kMostBytes));
  };
  if (name.empty()) return refuse("is empty");
  if (name.size() > kMostBytes) return refuse(fmt::format("has {} bytes", name.size()));
  for (std::string_view rest = name; !rest.empty();) {
    const std::size_t at = name.size() - rest.size();
    const std::optional<std::uint32_t> point = take_code_point(rest);
    if (!point) return refuse(fmt::format("is not UTF-8 at byte {}", at));
    if (is_control(*point)) return refuse(fmt::format("has the control character U+{:04X} at byte {}", *point, at));
  }
  return Status::ok();
}

std::optional<ActorId> NameTable::find(std::string_view name_space, std::string_view name) const {
  auto names = namespaces_.find(name_space);
  if (names == namespaces_.end()) return std::nullopt;
  auto found = names->second.find(name);
  return found == names->second.end() ? std::nullopt : std::optional(found->second);
}

bool NameTable::claim(std::string_view name_space, std::string_view name, ActorId actor) {
  auto names = namespaces_.try_emplace(std::string(name_space)).first;
  return names->second.try_emplace(std::string(name), actor).first->second == actor;
}

void NameTable::release(std::string_view name_space, std::string_view name) {
  auto names = namespaces_.find(name_space);
  if (names == namespaces_.end()) return;
  if (auto found = names->second.find(name); found != names->second.end()) names->second.erase(found);
  if (names->second.empty()) namespaces_.erase(names);
}

std::vector<std::string> NameTable::near(std::string_view name_space, std::string_view name) const {
  std::vector<std::string> chosen;
  auto names = namespaces_.find(name_space);
  if (names == namespaces_.end()) return chosen;
  const std::string wanted = lower(name);
  const int edits = name.size() < 4 ? 1 : 2;
  for (const auto& [known, actor] : names->second) {
    if (chosen.size() < kMostNear && within(wanted, lower(known), edits)) chosen.push_back(known);
  }
  return chosen;
}

Status NameTable::unknown(std::string_view name_space, std::string_view name) const {
  std::string text = fmt::format("no living actor is named \"{}\" in the namespace \"{}\"", name, name_space);
  std::vector<std::string> elsewhere;
  for (const auto& [other, names] : namespaces_) {
    if (elsewhere.size() < kMostNear && names.contains(name)) elsewhere.push_back(other);
  }
  if (const std::vector<std::string> similar = near(name_space, name); !similar.empty()) {
    text += "; near to it: " + quoted_list(similar);
  } else if (!elsewhere.empty()) {
    text += "; there is one in the namespace " + quoted_list(elsewhere);
  } else {
    auto names = namespaces_.find(name_space);
    const std::size_t count = names == namespaces_.end() ? 0 : names->second.size();
    text += fmt::format(", which has {} named actor{}", count, count == 1 ? "" : "s");
  }
  return Status(StatusCode::kNotFound, text);
}

std::vector<NamedActor> NameTable::list(std::optional<std::string_view> name_space) const {
  std::vector<NamedActor> rows;
  for (const auto& [known, names] : namespaces_) {
    if (name_space && *name_space != known) continue;
    for (const auto& [name, actor] : names) rows.push_back({.name_space = known, .name = name, .actor = actor});
  }
  return rows;
}

std::size_t NameTable::size() const {
  std::size_t count = 0;
  for (const auto& [name_space, names] : namespaces_) count += names.size();
  return count;
}

}  // namespace fray::actor
