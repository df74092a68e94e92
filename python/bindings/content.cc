#include "content.h"

#include <cstring>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "hash.h"
#include "main_reference.h"
#include "memory_digests.h"
#include "values.h"

namespace fray::python {

namespace {

PyObject* slot_is_immutable = nullptr;
PyObject* slot_is_named_tuple = nullptr;
PyObject* slot_has_plain_state = nullptr;
PyObject* slot_has_slots_alone = nullptr;
PyObject* slot_is_dict_of_collections = nullptr;
PyObject* slot_is_plain_dict = nullptr;
PyObject* slot_is_deque = nullptr;
PyObject* slot_is_partial = nullptr;
PyObject* slot_pickle_of = nullptr;

constexpr std::size_t kMostParts = 1'000'000;  // containers; each is copied
constexpr std::size_t kMostPickled = 1'000;    // objects that are pickled one by one
// Of memory whose digest is kept. To ask whether a digest is still good takes as long as to hash 30 kB.
constexpr std::size_t kLargeBytes = 256 << 10;

bool is_array(PyObject* object) { return std::strcmp(Py_TYPE(object)->tp_name, "numpy.ndarray") == 0; }

bool is_cached_function(PyObject* object) {
  return std::strcmp(Py_TYPE(object)->tp_name, "functools._lru_cache_wrapper") == 0;
}

bool supports_weak_references(PyObject* object) {
#if PY_VERSION_HEX >= 0x030C0000
  return PyType_SUPPORTS_WEAKREFS(Py_TYPE(object));
#else
  return Py_TYPE(object)->tp_weaklistoffset > 0;
#endif
}

bool is_held_weakly(PyObject* object) {
  return supports_weak_references(object) && !PyFunction_Check(object) && !PyType_Check(object) &&
         !PyModule_Check(object) && !PyCFunction_Check(object) && !PyAnySet_CheckExact(object);
}

void add_memory(const Py_buffer& view, bool may_yield, Hash* hash) {
  hash->add_number(view.len);
  const auto bytes = static_cast<std::size_t>(view.len);
  if (bytes < kLargeBytes) return hash->add(view.buf, bytes);
  const Digest digest = memory_digests().of(view.buf, bytes, may_yield);
  hash->add(&digest, sizeof digest);
}

// False, with no exception set, where the object's memory does not say what is in it.
bool hash_memory(PyObject* object, Hash* hash) {
  Py_buffer view;
  if (PyObject_GetBuffer(object, &view, PyBUF_FULL_RO) != 0) {
    PyErr_Clear();
    return false;
  }
  const std::string_view format = view.format == nullptr ? "B" : view.format;
  const bool is_plain = PyBuffer_IsContiguous(&view, 'A') == 1 && format.find('O') == std::string_view::npos;
  if (is_plain) {
    hash->add_text(format);
    hash->add_number(view.itemsize);
    hash->add_number(view.readonly);
    hash->add_number(view.ndim);
    for (int i = 0; i < view.ndim; ++i) {
      hash->add_number(view.shape[i]);
      hash->add_number(view.strides[i]);
    }
    // A bytearray refuses to grow while somebody looks at its memory, so other threads must not run.
    add_memory(view, is_array(object), hash);
  }
  PyBuffer_Release(&view);
  return is_plain;
}

constexpr int kOfObjects = PyBUF_ANY_CONTIGUOUS | PyBUF_FORMAT;  // numpy shows addresses to nobody who asks for bytes

// Adds the memory of what is in a list. False with an exception set.
bool add_memory_of(PyObject* list, int flags, bool may_yield, Hash* hash) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    Py_buffer view;
    if (PyObject_GetBuffer(PyList_GET_ITEM(list, i), &view, flags) != 0) return false;
    hash->add_number(view.readonly);
    add_memory(view, may_yield, hash);
    PyBuffer_Release(&view);
  }
  return true;
}

// 1; 0 where it cannot be pickled, is large, or needs the main script; -1 with an exception set.
//
// Of arrays of objects the addresses of the items are taken where `arrays` is given, and the arrays are put there. No other
// thread runs from then on, so that the caller can take hold of the items.
int hash_pickle(PyObject* object, Hash* hash, Owned* arrays) {
  if (imported(&slot_pickle_of, "fray._snapshots", "pickle_of") == nullptr) return -1;
  Owned pickled(PyObject_CallFunctionObjArgs(slot_pickle_of, object, arrays != nullptr ? Py_True : Py_False, nullptr));
  if (!pickled) return -1;
  if (pickled.get() == Py_None) return 0;
  PyObject* text = PyTuple_GET_ITEM(pickled.get(), 0);
  PyObject* of_objects = PyTuple_GET_ITEM(pickled.get(), 2);
  const std::string_view bytes(PyBytes_AS_STRING(text), static_cast<std::size_t>(PyBytes_GET_SIZE(text)));
  if (refers_to_main(bytes)) return 0;
  hash->add_text(bytes);
  if (!add_memory_of(PyTuple_GET_ITEM(pickled.get(), 1), PyBUF_ANY_CONTIGUOUS, true, hash)) return -1;
  if (!add_memory_of(of_objects, kOfObjects, false, hash)) return -1;
  if (arrays != nullptr) *arrays = Owned(Py_NewRef(of_objects));
  return 1;
}

// What is in arrays of objects, as a tuple. Null with an exception set.
Owned items_of(PyObject* arrays) {
  Owned items(PyList_New(0));
  for (Py_ssize_t i = 0; items && i < PyList_GET_SIZE(arrays); ++i) {
    Py_buffer view;
    if (PyObject_GetBuffer(PyList_GET_ITEM(arrays, i), &view, kOfObjects) != 0) return {};
    auto** objects = static_cast<PyObject**>(view.buf);
    for (std::size_t j = 0; items && j < static_cast<std::size_t>(view.len) / sizeof(PyObject*); ++j) {
      // numpy means None by an address that is null.
      if (PyList_Append(items.get(), objects[j] == nullptr ? Py_None : objects[j]) != 0) items = Owned();
    }
    PyBuffer_Release(&view);
  }
  return Owned(items ? PyList_AsTuple(items.get()) : nullptr);
}

Py_ssize_t size_of(PyObject* dict) { return dict == nullptr ? 0 : PyDict_GET_SIZE(dict); }

// Where a list or a set has the addresses of its items, if that is worth a digest.
std::optional<Digest> digest_of_items(PyObject* container) {
  const void* data = nullptr;
  std::size_t bytes = 0;
  if (PyList_CheckExact(container)) {
    data = reinterpret_cast<PyListObject*>(container)->ob_item;
    bytes = static_cast<std::size_t>(PyList_GET_SIZE(container)) * sizeof(PyObject*);
  } else {
    const auto* set = reinterpret_cast<PySetObject*>(container);
    data = set->table;
    bytes = (static_cast<std::size_t>(set->mask) + 1) * sizeof(setentry);
  }
  if (bytes < kLargeBytes) return std::nullopt;
  return memory_digests().of(data, bytes, false);
}

bool has_same_items(PyObject* list, const ContentPart& part) {
  PyObject* then = part.copy.get();
  const Py_ssize_t size = PyTuple_GET_SIZE(then);
  if (PyList_GET_SIZE(list) != size) return false;
  if (size == 0) return true;  // an empty list has no memory for items
  if (digest_of_items(list) == part.digest) return true;
  PyObject** items = reinterpret_cast<PyListObject*>(list)->ob_item;
  return std::memcmp(items, reinterpret_cast<PyTupleObject*>(then)->ob_item,
                     static_cast<std::size_t>(size) * sizeof(PyObject*)) == 0;
}

// Of a set or a deque. The order in which a set gives its members stays while nothing is added to it or removed.
int has_same_members(PyObject* container, const ContentPart& part) {
  PyObject* then = part.copy.get();
  const Py_ssize_t size = PyTuple_GET_SIZE(then);
  if (PyObject_Size(container) != size) return PyErr_Occurred() != nullptr ? -1 : 0;
  if (PySet_CheckExact(container) && digest_of_items(container) == part.digest) return 1;
  Owned each(PyObject_GetIter(container));
  if (!each) return -1;
  for (Py_ssize_t i = 0; i < size; ++i) {
    Owned member(PyIter_Next(each.get()));
    if (!member) return PyErr_Occurred() != nullptr ? -1 : 0;
    if (member.get() != PyTuple_GET_ITEM(then, i)) return 0;
  }
  return 1;
}

// Python 3.11 numbers all changes of all dicts; later versions do not any more. 0 where it does not.
std::uint64_t version_of(PyObject* dict) {
#if PY_VERSION_HEX < 0x030C0000
  return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
#else
  static_cast<void>(dict);
  return 0;
#endif
}

bool has_same_version(PyObject* dict, std::uint64_t then) { return then != 0 && then == version_of(dict); }

bool has_class(PyObject* object, const Owned& cls) { return reinterpret_cast<PyObject*>(Py_TYPE(object)) == cls.get(); }

// What a `defaultdict` calls for keys that it lacks; null for other dicts, with or without an exception set.
Owned factory_of(PyObject* dict) {
  static PyObject* name = PyUnicode_InternFromString("default_factory");
  if (std::strcmp(Py_TYPE(dict)->tp_name, "collections.defaultdict") != 0) return {};
  return Owned(PyObject_GetAttr(dict, name));
}

int has_same_factory(PyObject* now, PyObject* then) {
  Owned one = factory_of(now);
  Owned other = factory_of(then);
  return PyErr_Occurred() != nullptr ? -1 : one.get() == other.get();
}

int is_same_dict(PyObject* dict, const ContentPart& then) {
  if (!PyDict_CheckExact(dict)) {
    if (!has_class(dict, then.cls)) return 0;
    if (const int answer = has_same_factory(dict, then.copy.get()); answer != 1) return answer;
  }
  return has_same_version(dict, then.version) || has_same_entries(dict, then.copy.get());
}

// What an object has in its slots, all of which are in its memory one after the other: see `has_slots_alone` in Python.
struct Slots {
  PyObject** first;
  Py_ssize_t count;
  Py_ssize_t of_weak_references;  // the one that says who refers to the object weakly; -1 without one

  explicit Slots(PyObject* object) {
    const PyTypeObject* cls = Py_TYPE(object);
    first = reinterpret_cast<PyObject**>(object + 1);
    count =
        (cls->tp_basicsize - static_cast<Py_ssize_t>(sizeof(PyObject))) / static_cast<Py_ssize_t>(sizeof(PyObject*));
    of_weak_references = cls->tp_weaklistoffset <= 0
                             ? -1
                             : (cls->tp_weaklistoffset - static_cast<Py_ssize_t>(sizeof(PyObject))) /
                                   static_cast<Py_ssize_t>(sizeof(PyObject*));
  }

  // One that has not been set reads as a mark of its own.
  PyObject* get(Py_ssize_t place) const {
    static PyObject* unset = PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
    return place == of_weak_references || first[place] == nullptr ? unset : first[place];
  }

  Owned copy() const {
    Owned copy(PyTuple_New(count));
    for (Py_ssize_t i = 0; copy && i < count; ++i) PyTuple_SET_ITEM(copy.get(), i, Py_NewRef(get(i)));
    return copy;
  }
};

bool has_same_slots(PyObject* object, const ContentPart& then) {
  if (!has_class(object, then.cls)) return false;
  const Slots slots(object);
  for (Py_ssize_t i = 0; i < slots.count; ++i) {
    if (slots.get(i) != PyTuple_GET_ITEM(then.copy.get(), i)) return false;
  }
  return true;
}

// The copy has the entries and the attributes, each as a dict.
int has_same_entries_and_attributes(PyObject* dict, const ContentPart& then) {
  if (!has_class(dict, then.cls)) return 0;
  Owned attributes(PyObject_GenericGetDict(dict, nullptr));
  if (!attributes) return -1;
  return (has_same_version(dict, then.version) || has_same_entries(dict, PyTuple_GET_ITEM(then.copy.get(), 0))) &&
         has_same_entries(attributes.get(), PyTuple_GET_ITEM(then.copy.get(), 1));
}

// What a partial object calls and with what, and its attributes. Null with an exception set.
Owned parts_of_partial(PyObject* object) {
  static constexpr const char* kNames[] = {"func", "args", "keywords", "__dict__"};
  Owned parts(PyTuple_New(std::size(kNames)));
  for (std::size_t i = 0; parts && i < std::size(kNames); ++i) {
    PyObject* part = PyObject_GetAttrString(object, kNames[i]);
    if (part == nullptr) return {};
    PyTuple_SET_ITEM(parts.get(), static_cast<Py_ssize_t>(i), part);
  }
  return parts;
}

int has_same_parts(PyObject* object, const ContentPart& then) {
  if (!has_class(object, then.cls)) return 0;
  Owned parts = parts_of_partial(object);
  if (!parts) return -1;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(parts.get()); ++i) {
    if (PyTuple_GET_ITEM(parts.get(), i) != PyTuple_GET_ITEM(then.copy.get(), i)) return 0;
  }
  return 1;
}

int has_same_attributes(PyObject* object, const ContentPart& then) {
  if (!has_class(object, then.cls)) return 0;
  Owned attributes(PyObject_GenericGetDict(object, nullptr));
  if (!attributes) return -1;
  return has_same_version(attributes.get(), then.version) || has_same_entries(attributes.get(), then.copy.get());
}

// Finds all containers below one, each once.
class ContentWalk {
 public:
  ContentWalk(std::vector<ContentPart>* parts, PyObject* refers) : parts_(parts), refers_(refers) {}

  int run(PyObject* root) {
    int answer = take(root);
    while (answer == 1 && !to_do_.empty()) {
      PyObject* next = to_do_.back();
      to_do_.pop_back();
      answer = PyDict_Check(next) ? take_entries(next) : take_items(next);
    }
    return answer;
  }

 private:
  using By = ContentPart::By;

  int take(PyObject* value) {
    PyTypeObject* kind = Py_TYPE(value);
    if (is_constant(value)) return 1;
    if (kind == &PyTuple_Type) return is_all_constants(value) || !see(value) ? 1 : queue(value);
    if (kind == &PyList_Type) return see(value) ? copied(value, By::kItems, PyList_AsTuple(value)) : 1;
    if (kind == &PyDict_Type)
      return see(value) ? copied(value, By::kEntries, PyDict_Copy(value), version_of(value)) : 1;
    if (kind == &PySet_Type) return see(value) ? copied(value, By::kMembers, PySequence_Tuple(value)) : 1;
    if (kind == &PyFrozenSet_Type) return see(value) ? take_frozen(value) : 1;
    if (PyFunction_Check(value) || PyType_Check(value) || is_cached_function(value)) return refer(value);
    return take_other(value);
  }

  int take_items(PyObject* tuple) {
    int answer = 1;
    for (Py_ssize_t i = 0; answer == 1 && i < PyTuple_GET_SIZE(tuple); ++i) answer = take(PyTuple_GET_ITEM(tuple, i));
    return answer;
  }

  int take_entries(PyObject* dict) {
    int answer = 1;
    Py_ssize_t place = 0;
    PyObject *key = nullptr, *value = nullptr;
    while (answer == 1 && PyDict_Next(dict, &place, &key, &value)) {
      answer = take(key);
      if (answer == 1) answer = take(value);
    }
    return answer;
  }

  // Items of tuples are compared nowhere: only what is in them can change.
  int take_frozen(PyObject* set) {
    Owned members(PySequence_Tuple(set));
    if (!members) return -1;
    const int answer = is_all_constants(members.get()) ? 1 : queue(members.get());
    kept_.push_back(std::move(members));
    return answer;
  }

  int take_other(PyObject* value) {
    Kind* kind = kind_of(Py_TYPE(value));
    if (kind == nullptr) return -1;
    switch (*kind) {
      case Kind::kImmutable:
        return 1;
      case Kind::kNamedTuple:
        return is_all_constants(value) || !see(value) ? 1 : queue(value);
      case Kind::kPlain:
        return see(value) ? take_attributes(value) : 1;
      case Kind::kSlots:
        return see(value) ? copied(value, By::kSlots, Slots(value).copy().release()) : 1;
      case Kind::kDictOfCollections:
        return see(value) ? take_dict_of_collections(value) : 1;
      case Kind::kPlainDict:
        return see(value) ? take_dict_with_attributes(value) : 1;
      case Kind::kDeque:
        return see(value) ? copied(value, By::kMembers, PySequence_Tuple(value)) : 1;
      case Kind::kPartial:
        return see(value) ? copied(value, By::kPartial, parts_of_partial(value).release()) : 1;
      case Kind::kOther:
        return see(value) ? take_opaque(value) : 1;
    }
    return 0;
  }

  int take_attributes(PyObject* value) {
    Owned attributes(PyObject_GenericGetDict(value, nullptr));
    if (!attributes) return -1;
    return copied(value, By::kAttributes, PyDict_Copy(attributes.get()), version_of(attributes.get()));
  }

  // The copy of a `defaultdict` is one too, so it has what to call for other keys.
  int take_dict_of_collections(PyObject* value) {
    Owned factory = factory_of(value);
    if (!factory && PyErr_Occurred() != nullptr) return -1;
    if (factory) {
      if (const int answer = take(factory.get()); answer != 1) return answer;
    }
    PyObject* copy = factory ? PyObject_CallMethod(value, "copy", nullptr) : PyDict_Copy(value);
    return copied(value, By::kEntries, copy, version_of(value));
  }

  int take_dict_with_attributes(PyObject* value) {
    Owned attributes(PyObject_GenericGetDict(value, nullptr));
    if (!attributes) return -1;
    Owned entries_then(PyDict_Copy(value));
    Owned attributes_then(PyDict_Copy(attributes.get()));
    if (!entries_then || !attributes_then) return -1;
    PyObject* both = PyTuple_Pack(2, entries_then.get(), attributes_then.get());
    if (both == nullptr) return -1;
    for (PyObject* each : {entries_then.get(), attributes_then.get()}) to_do_.push_back(each);
    return kept(value, By::kEntriesAndAttributes, both, version_of(value));
  }

  int take_opaque(PyObject* value) {
    ContentPart part{By::kMemory, Compared(value), {}};
    if (part.container.is_unsettled_array(value)) part.container.hold();
    if (part.container.is_lost()) return -1;
    Hash hash;
    if (!(PyByteArray_CheckExact(value) || is_array(value)) || !hash_memory(value, &hash)) {
      part.by = By::kPickle;
      if (++pickled_ > kMostPickled) return 0;
      const int answer = take_pickle(value, &hash, &part.copy);
      if (answer != 1) return answer;
    }
    part.digest = hash.digest();
    return add(std::move(part));
  }

  // Holds the items of arrays of objects in `copy` where they cannot change; else they are in the pickle.
  int take_pickle(PyObject* value, Hash* hash, Owned* copy) {
    Hash with_addresses;
    Owned arrays;
    const int answer = hash_pickle(value, &with_addresses, &arrays);
    if (answer != 1) return answer;
    if (PyList_GET_SIZE(arrays.get()) > 0) {
      *copy = items_of(arrays.get());
      if (!*copy) return -1;
      const int are_constant = cannot_change(copy->get());
      if (are_constant < 0) return -1;
      if (are_constant == 0) {
        *copy = Owned();
        return hash_pickle(value, hash, nullptr);
      }
    }
    *hash = with_addresses;
    return 1;
  }

  // 1 or 0; -1 with an exception set.
  int cannot_change(PyObject* tuple) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
      PyObject* item = PyTuple_GET_ITEM(tuple, i);
      if (is_constant(item)) continue;
      const Kind* kind = kind_of(Py_TYPE(item));
      if (kind == nullptr) return -1;
      if (*kind != Kind::kImmutable) return 0;
    }
    return 1;
  }

  enum class Kind : std::uint8_t {
    kImmutable,
    kNamedTuple,
    kPlain,
    kSlots,
    kDictOfCollections,
    kPlainDict,
    kDeque,
    kPartial,
    kOther
  };

  // Asks Python once for each class. Null with an exception set.
  Kind* kind_of(PyTypeObject* type) {
    auto* cls = reinterpret_cast<PyObject*>(type);
    if (auto known = kinds_.find(cls); known != kinds_.end()) return &known->second;
    const std::tuple<PyObject**, const char*, Kind> questions[] = {
        {&slot_is_immutable, "is_immutable", Kind::kImmutable},
        {&slot_is_named_tuple, "is_named_tuple", Kind::kNamedTuple},
        {&slot_has_plain_state, "has_plain_state", Kind::kPlain},
        {&slot_has_slots_alone, "has_slots_alone", Kind::kSlots},
        {&slot_is_dict_of_collections, "is_dict_of_collections", Kind::kDictOfCollections},
        {&slot_is_plain_dict, "is_plain_dict", Kind::kPlainDict},
        {&slot_is_deque, "is_deque", Kind::kDeque},
        {&slot_is_partial, "is_partial", Kind::kPartial}};
    Kind found = Kind::kOther;
    for (const auto& [slot, question, kind] : questions) {
      if (imported(slot, "fray._references", question) == nullptr) return nullptr;
      Owned answer(PyObject_CallOneArg(*slot, cls));
      if (!answer) return nullptr;
      if (answer.get() != Py_True) continue;
      found = kind;
      if (PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) && refer(cls) != 1) return nullptr;
      break;
    }
    return &(kinds_[cls] = found);
  }

  static bool is_constant(PyObject* value) {
    PyTypeObject* kind = Py_TYPE(value);
    return kind == &PyLong_Type || kind == &PyUnicode_Type || kind == &PyFloat_Type || kind == &PyBool_Type ||
           kind == &PyBytes_Type || value == Py_None;
  }

  static bool is_all_constants(PyObject* tuple) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
      if (!is_constant(PyTuple_GET_ITEM(tuple, i))) return false;
    }
    return true;
  }

  // Takes note of a container, with what was in it, and looks into that.
  int copied(PyObject* container, By by, PyObject* copy, std::uint64_t version = 0) {
    if (copy != nullptr) to_do_.push_back(copy);
    return kept(container, by, copy, version);
  }

  int kept(PyObject* container, By by, PyObject* copy, std::uint64_t version) {
    ContentPart part{by, Compared(container), Owned(copy)};
    part.version = version;
    const bool has_items = PyList_CheckExact(container) || PySet_CheckExact(container);
    if (!has_items && !PyDict_CheckExact(container)) {
      part.cls = Owned(Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(container))));
    }
    if (!part.copy || part.container.is_lost()) return -1;
    if (has_items) part.digest = digest_of_items(container).value_or(Digest());
    return add(std::move(part));
  }

  int add(ContentPart part) {
    parts_->push_back(std::move(part));
    return parts_->size() <= kMostParts;
  }

  int queue(PyObject* tuple) {
    to_do_.push_back(tuple);
    return 1;
  }

  int refer(PyObject* thing) { return !see(thing) || PyList_Append(refers_, thing) == 0 ? 1 : -1; }

  bool see(PyObject* value) { return seen_.insert(value).second; }

  std::vector<ContentPart>* parts_;
  PyObject* refers_;
  std::vector<PyObject*> to_do_;  // tuples and dicts: copies, which the parts hold, or what these contain
  std::vector<Owned> kept_;
  std::unordered_set<PyObject*> seen_;
  std::unordered_map<PyObject*, Kind> kinds_;
  std::size_t pickled_ = 0;
};

}  // namespace

Compared::Compared(PyObject* object) {
  if (object != nullptr && is_array(object)) {
    how_ = How::kByMemory;
    array_ = object;
  } else if (object != nullptr && is_held_weakly(object)) {
    how_ = How::kWeakly;
    held_ = Owned(PyWeakref_NewRef(object, nullptr));
  } else {
    held_ = Owned(Py_XNewRef(object));
  }
}

PyObject* Compared::get() const {
  if (how_ == How::kByMemory) return array_;
  if (how_ == How::kStrongly || !held_) return held_.get();
#if PY_VERSION_HEX >= 0x030D0000
  PyObject* object = nullptr;
  if (PyWeakref_GetRef(held_.get(), &object) <= 0) return nullptr;
  Py_DECREF(object);  // whoever else holds it does so until this thread gives up the GIL
  return object;
#else
  PyObject* object = PyWeakref_GET_OBJECT(held_.get());
  return object == Py_None ? nullptr : object;
#endif
}

bool Compared::is(PyObject* now) const {
  if (how_ == How::kStrongly) return now == held_.get();
  if (now == nullptr) return false;
  if (how_ == How::kWeakly) return now == get();
  // Another array at the same address counts as the same if it is equal.
  if (now != array_ || !is_array(now)) return false;
  Owned held(Py_NewRef(now));
  return digest_of_array(now) == digest_;
}

void Compared::hold() {
  how_ = How::kStrongly;
  held_ = Owned(Py_NewRef(std::exchange(array_, nullptr)));
}

std::optional<Digest> digest_of_array(PyObject* object) {
  Hash hash;
  if (!is_array(object) || !hash_memory(object, &hash)) return std::nullopt;
  return hash.digest();
}

bool has_same_entries(PyObject* now, PyObject* then) {
  if (size_of(now) != size_of(then)) return false;
  if (size_of(now) == 0) return true;
  Py_ssize_t place = 0;
  Py_ssize_t other_place = 0;
  PyObject *key = nullptr, *value = nullptr, *other_key = nullptr, *other_value = nullptr;
  while (PyDict_Next(now, &place, &key, &value)) {
    if (!PyDict_Next(then, &other_place, &other_key, &other_value)) return false;
    if (key != other_key || value != other_value) return false;
  }
  return true;
}

int take_content(PyObject* root, std::vector<ContentPart>* parts, PyObject* refers) {
  return ContentWalk(parts, refers).run(root);
}

int is_as_it_was(const ContentPart& then) {
  Owned container(Py_XNewRef(then.container.get()));
  if (!container) return 0;
  Hash hash;
  Owned arrays;
  switch (then.by) {
    case ContentPart::By::kItems:
      return has_same_items(container.get(), then);
    case ContentPart::By::kMembers:
      return has_same_members(container.get(), then);
    case ContentPart::By::kEntries:
      return is_same_dict(container.get(), then);
    case ContentPart::By::kAttributes:
      return has_same_attributes(container.get(), then);
    case ContentPart::By::kEntriesAndAttributes:
      return has_same_entries_and_attributes(container.get(), then);
    case ContentPart::By::kSlots:
      return has_same_slots(container.get(), then);
    case ContentPart::By::kPartial:
      return has_same_parts(container.get(), then);
    case ContentPart::By::kMemory:
      if (!hash_memory(container.get(), &hash)) return 0;
      break;
    case ContentPart::By::kPickle:
      if (const int answer = hash_pickle(container.get(), &hash, then.copy ? &arrays : nullptr); answer != 1) {
        return answer;
      }
      break;
  }
  return hash.digest() == then.digest;
}

}  // namespace fray::python
