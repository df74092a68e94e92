#include "iris/actor_messages.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <vector>

#include "iris/messages.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace fray::python {

namespace {

using iris::wire::ActorCall;
using iris::wire::ActorError;
using iris::wire::ActorResponse;
using iris::wire::ListMethodsRequest;
using iris::wire::ListMethodsResponse;

nb::bytes bytes_of(const std::string& text) { return nb::bytes(text.data(), text.size()); }
std::string text_of(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

template <typename Message>
Message read(const nb::bytes& bytes) {
  Message message;
  if (!decode({bytes.c_str(), bytes.size()}, message)) throw nb::value_error("these bytes are no such message");
  return message;
}

nb::tuple read_response(const nb::bytes& bytes) {
  const auto answer = read<ActorResponse>(bytes);
  if (!answer.error) return nb::make_tuple(bytes_of(answer.serialized_value.value_or("")), nb::none());
  const ActorError& error = *answer.error;
  return nb::make_tuple(nb::none(),
                        nb::make_tuple(error.error_type, error.message, bytes_of(error.serialized_exception)));
}

}  // namespace

void add_actor_messages(nb::module_& module) {
  module.def(
      "actor_call",
      [](const std::string& method, const std::string& actor, const nb::bytes& args, const nb::bytes& kwargs) {
        return bytes_of(encode(ActorCall{method, actor, text_of(args), text_of(kwargs)}));
      },
      "method"_a, "actor"_a, "args"_a, "kwargs"_a, "A call of one of Iris's own actors.");
  module.def(
      "read_actor_call",
      [](const nb::bytes& bytes) {
        const auto call = read<ActorCall>(bytes);
        return nb::make_tuple(call.method_name, call.actor_name, bytes_of(call.serialized_args),
                              bytes_of(call.serialized_kwargs));
      },
      "message"_a, nb::sig("def read_actor_call(message: bytes) -> tuple[str, str, bytes, bytes]"),
      "The method, the actor, the arguments and the keywords of a call.");
  module.def(
      "actor_value",
      [](const nb::bytes& value) { return bytes_of(encode(ActorResponse{.serialized_value = text_of(value)})); },
      "value"_a, "The answer of a call that has returned.");
  module.def(
      "actor_error",
      [](const std::string& type, const std::string& message, const nb::bytes& exception) {
        return bytes_of(encode(ActorResponse{.error = ActorError{type, message, text_of(exception)}}));
      },
      "type"_a, "message"_a, "exception"_a, "The answer of a call that has failed.");
  module.def("read_actor_response", &read_response, "message"_a,
             nb::sig("def read_actor_response(message: bytes) -> tuple[bytes | None, tuple[str, str, bytes] | None]"),
             "The value of a call, or the type, the message and the exception of its failure.");
  module.def(
      "actor_methods_question", [](const std::string& actor) { return bytes_of(encode(ListMethodsRequest{actor})); },
      "actor"_a, "Asks for the methods of an actor.");
  module.def(
      "actor_methods",
      [](const std::vector<std::tuple<std::string, std::string, std::string>>& methods) {
        ListMethodsResponse answer;
        for (const auto& [name, signature, text] : methods) answer.methods.push_back({name, signature, text});
        return bytes_of(encode(answer));
      },
      "methods"_a, "Methods with their signatures and descriptions.");
  module.def(
      "read_actor_methods",
      [](const nb::bytes& bytes) {
        std::vector<std::string> names;
        for (const auto& method : read<ListMethodsResponse>(bytes).methods) names.push_back(method.name);
        return names;
      },
      "message"_a, "The names of methods.");
  module.def(
      "healthy", [] { return bytes_of(encode(iris::wire::HealthResponse{true})); }, "The answer of a host that lives.");
}

}  // namespace fray::python
