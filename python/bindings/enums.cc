#include <string>

#include "base/enum_names.h"
#include "base/status.h"
#include "signatures.h"
#include "wire/actor.h"
#include "wire/direct.h"
#include "wire/function_payload.h"
#include "worker/actor_loop.h"
#include "worker/task_loop.h"

namespace fray::python {

namespace {

// The name of an enumerator as Python writes constants: STORE_FULL for kStoreFull.
std::string python_name(std::string_view name) {
  std::string text;
  for (char letter : name.substr(1)) {
    const bool capital = letter >= 'A' && letter <= 'Z';
    if (capital && !text.empty()) text += '_';
    text += letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
  }
  return text;
}

template <typename Enum>
void add_enum(nanobind::module_& module, const char* name) {
  nanobind::enum_<Enum> made(module, name, nanobind::is_arithmetic());
  for (const auto& [value, text] : enumerators<Enum>()) made.value(python_name(text).c_str(), value);
}

}  // namespace

void add_enums(nanobind::module_& module) {
  add_enum<StatusCode>(module, "StatusCode");
  add_enum<wire::FunctionKind>(module, "FunctionKind");
  add_enum<wire::TaskStatus>(module, "TaskStatus");
  add_enum<wire::ActorDeath::Executed>(module, "Executed");
  add_enum<wire::ActorFate>(module, "ActorFate");
  add_enum<worker::TaskLoop::Interrupt>(module, "Interrupt");
  add_enum<worker::ActorLoop::Mode>(module, "ActorMode");
}

}  // namespace fray::python
