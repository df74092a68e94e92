#include "node/objects/object_carrier.h"

#include <utility>
#include <variant>

namespace fray::node {

namespace {

// Whether the object itself has bytes in shared memory; an alias of another object has none.
bool owns_bytes(ObjectId object, const wire::Value& value) {
  return value.kind == wire::ValueKind::kSealed && value.object == object;
}

std::string_view why_lost(StatusCode code) {
  if (code == StatusCode::kOwnerDied) return "the process that would have made the object is gone";
  return "the object's bytes are gone";
}

}  // namespace

void ObjectCarrier::process_left(ProcessId process, bool may_still_look) {
  if (may_still_look) {
    for (ObjectId object : table_.held_by(process)) {
      auto value = values_.find(object);
      if (value != values_.end() && owns_bytes(object, value->second)) still_seen_.insert(object);
    }
  }
  table_.process_left(process);
}

Status ObjectCarrier::records(ProcessId process, wire::ControlType type, const wire::ObjectIds& message) {
  for (const ObjectId& id : message.ids) {
    switch (type) {
      case wire::ControlType::kRegister:
        table_.registered(process, id);
        break;
      case wire::ControlType::kHold:
        table_.held(process, id);
        break;
      case wire::ControlType::kRelease:
        table_.released(process, id);
        break;
      default:
        table_.wanted(process, id);
        break;
    }
  }
  return Status::ok();
}

void ObjectCarrier::cancel(const wire::CancelObject& message) {
  roster_.send(message.object.owner, wire::ControlType::kCancelWanted, 0, message);
}

Status ObjectCarrier::complete(wire::Complete message) {
  const ObjectId object = message.object;
  wire::Value& value = message.value;
  std::vector<ObjectId> nested = value.nested;
  if (value.kind == wire::ValueKind::kSealed && value.object != object) nested.push_back(value.object);
  const bool sealed = owns_bytes(object, value);

  auto known = values_.find(object);
  if (known != values_.end()) {  // a result of a late attempt, or the owner repeats what the maker has reported
    table_.completed(message.holder, object, nested);
    if (sealed && value.location != known->second.location) memory_.give_back(value.location);
    return Status::ok();
  }
  if (sealed) {
    Status added = memory_.object_added(value.location);
    if (added.code() == StatusCode::kResourceExhausted) {
      lose_bytes(object, value, added);
    } else if (!added.is_ok())
      return Status(StatusCode::kCorruption, added.message());
  }
  if (!table_.completed(message.holder, object, nested)) {
    if (auto lost = lost_bytes_.extract(object)) {
      memory_.give_back(lost.mapped(), false);
    } else if (sealed) {
      memory_.object_removed(value.location);
    }
    return Status::ok();
  }
  inline_bytes_ += value.bytes.size();
  values_.emplace(object, std::move(value));
  return Status::ok();
}

// From now on the object is a failure for all processes but its writer, which keeps the bytes until it has no holder.
void ObjectCarrier::lose_bytes(const ObjectId& object, wire::Value& value, const Status& why) {
  lost_bytes_[object] = value.location;
  value.kind = wire::ValueKind::kInline;
  value.encoding = wire::Encoding::kStatus;
  value.bytes = std::string(1, static_cast<char>(why.code())) + why.message();
}

bool ObjectCarrier::end_round(bool complete) {
  if (complete && table_.has_removals()) table_.round_drained();
  carry_out();
  return table_.has_removals();
}

void ObjectCarrier::carry_out() {
  while (true) {
    std::vector<object::Command> commands = table_.take_commands();
    if (commands.empty()) return;
    for (const object::Command& command : commands) {
      std::visit([this](const auto& known) { carry_out(known); }, command);
    }
  }
}

void ObjectCarrier::carry_out(const object::Deliver& command) {
  auto value = values_.find(command.object);
  if (value == values_.end()) return;
  roster_.send(command.process, wire::ControlType::kObjectReady, 0, wire::ObjectReady{command.object, value->second});
}

void ObjectCarrier::carry_out(const object::ReportLost& command) {
  wire::ObjectLost message{command.object, command.code, std::string(why_lost(command.code))};
  roster_.send(command.process, wire::ControlType::kObjectLost, 0, message);
}

void ObjectCarrier::carry_out(const object::Forget& command) {
  on_forget_(command.object);
  auto found = values_.find(command.object);
  if (found == values_.end()) return;
  wire::Value value = std::move(found->second);
  values_.erase(found);
  inline_bytes_ -= value.bytes.size();
  if (auto lost = lost_bytes_.extract(command.object)) memory_.give_back(lost.mapped(), false);
  const bool reuse = still_seen_.erase(command.object) == 0;
  if (owns_bytes(command.object, value)) memory_.object_removed(value.location, reuse);
}

}  // namespace fray::node
