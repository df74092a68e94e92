// Tells nanobind how the types of arguments.h, and the objects of this folder, become those of Python and back.
//
// Threading:  with the GIL.
// Ownership:  see arguments.h.
// Failure:    what does not fit is refused; nanobind says then which types the function takes.
#pragma once

#include <concepts>

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "functions.h"

namespace nanobind::detail {

// Only ever given to Python.
template <typename T>
struct given_caster {
  using Value = T;
  template <typename>
  using Cast = T;
};

template <>
struct type_caster<fray::python::Owned> : given_caster<fray::python::Owned> {
  static constexpr auto Name = const_name("typing.Any");
  static handle from_cpp(fray::python::Owned&& owned, rv_policy, cleanup_list*) noexcept { return owned.release(); }
};

template <>
struct type_caster<fray::python::Nothing> : given_caster<fray::python::Nothing> {
  static constexpr auto Name = const_name("None");
  static handle from_cpp(fray::python::Nothing, rv_policy, cleanup_list*) noexcept { return none().release(); }
};

template <>
struct type_caster<fray::python::Bytes> : given_caster<fray::python::Bytes> {
  static constexpr auto Name = const_name("bytes");
  static handle from_cpp(const fray::python::Bytes& given, rv_policy, cleanup_list*) noexcept {
    return PyBytes_FromStringAndSize(given.bytes.data(), static_cast<Py_ssize_t>(given.bytes.size()));
  }
};

// A null handle makes nanobind raise what is set.
template <typename T>
struct type_caster<fray::python::Answer<T>> : given_caster<fray::python::Answer<T>> {
  static constexpr auto Name = make_caster<T>::Name;
  static handle from_cpp(fray::python::Answer<T>&& answer, rv_policy policy, cleanup_list* cleanup) noexcept {
    return answer.value ? make_caster<T>::from_cpp(std::move(*answer.value), policy, cleanup) : handle();
  }
};

template <>
struct type_caster<fray::python::BytesView> {
  NB_TYPE_CASTER(fray::python::BytesView, const_name("bytes"))
  bool from_python(handle source, uint32_t, cleanup_list*) noexcept {
    if (!PyBytes_Check(source.ptr())) return false;
    value.bytes = {PyBytes_AS_STRING(source.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(source.ptr()))};
    return true;
  }
};

template <>
struct type_caster<fray::python::FileName> {
  NB_TYPE_CASTER(fray::python::FileName, const_name("str"))
  bool from_python(handle source, uint32_t, cleanup_list*) noexcept {
    const fray::python::Owned bytes(PyUnicode_Check(source.ptr()) ? PyUnicode_EncodeFSDefault(source.ptr()) : nullptr);
    if (!bytes) {
      PyErr_Clear();
      return false;
    }
    value.bytes.assign(PyBytes_AS_STRING(bytes.get()), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.get())));
    return true;
  }
  static handle from_cpp(const fray::python::FileName& name, rv_policy, cleanup_list*) noexcept {
    return PyUnicode_DecodeFSDefaultAndSize(name.bytes.data(), static_cast<Py_ssize_t>(name.bytes.size()));
  }
};

template <fray::python::TypeName kTypeName, int (*kCheck)(PyObject*), bool kOrNone>
struct type_caster<fray::python::Borrowed<kTypeName, kCheck, kOrNone>> {
  using Given = fray::python::Borrowed<kTypeName, kCheck, kOrNone>;
  NB_TYPE_CASTER(Given, const_name(kTypeName.text))
  bool from_python(handle source, uint32_t, cleanup_list*) noexcept {
    value.object = source.ptr();
    return (kOrNone && source.is_none()) || kCheck(source.ptr()) != 0;
  }
};
template <fray::python::TypeName kTypeName, int (*kCheck)(PyObject*)>
struct has_arg_defaults<fray::python::Borrowed<kTypeName, kCheck, true>> : std::true_type {};

// Objects of types that this folder makes itself, as pointers; a new reference where they are given to Python.
template <typename Object>
  requires std::same_as<decltype(Object::is(nullptr)), bool>
struct type_caster<Object> {
  using Value = Object*;
  template <typename>
  using Cast = Object*;
  template <typename>
  static constexpr bool can_cast() {
    return true;
  }
  static constexpr auto Name = const_name(Object::kTypeName);
  bool from_python(handle source, uint32_t, cleanup_list*) noexcept {
    value = reinterpret_cast<Object*>(source.ptr());
    return Object::is(source.ptr());
  }
  static handle from_cpp(Object* object, rv_policy, cleanup_list*) noexcept {
    return reinterpret_cast<PyObject*>(object);
  }
  explicit operator Object*() { return value; }
  Object* value = nullptr;
};

}  // namespace nanobind::detail
