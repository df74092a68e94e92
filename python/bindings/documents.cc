#include "documents.h"

#include <nanobind/stl/string.h>

#include <string>

#include <nlohmann/json.hpp>

#include "model/json_text.h"
#include "signatures.h"

namespace nb = nanobind;

namespace fray::python {

using nlohmann::json;

namespace {

std::string text_of(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

}  // namespace

json json_of(nb::handle value) {
  if (value.is_none()) return nullptr;
  if (nb::isinstance<nb::bytes>(value)) return text_of(nb::cast<nb::bytes>(value));
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  if (nb::isinstance<nb::bool_>(value)) return nb::cast<bool>(value);
  if (nb::isinstance<nb::int_>(value)) {
    int beyond = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &beyond);
    if (beyond == 0) return number;
    const double rounded = PyLong_AsDouble(value.ptr());  // beyond every range: who reads the document refuses it
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
    return rounded;
  }
  if (nb::isinstance<nb::float_>(value)) return nb::cast<double>(value);
  if (nb::isinstance<nb::dict>(value)) {
    json object = json::object();
    for (auto [name, item] : nb::cast<nb::dict>(value)) object[json_of(name).get<std::string>()] = json_of(item);
    return object;
  }
  json array = json::array();
  for (nb::handle item : value) array.push_back(json_of(item));
  return array;
}

void add_documents(nb::module_& module) {
  module.def(
      "json_text", [](const nb::dict& document) { return json_text(json_of(document)); }, nb::arg("document"),
      nb::sig("def json_text(document: dict[str, object]) -> str"),
      "The document as JSON; the module json takes a millisecond to import.");
}

}  // namespace fray::python
