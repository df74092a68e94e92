// ActorHost: an actor's process as fray.backend.native.actor_host sees it: constructor, calls, answers.
//
// Threading:  any thread with the GIL; serve() on as many threads as calls may run at once.
// Ownership:  owns the loop and the worker's page; borrows client and support module.
// Failure:    whatever the user's methods raise, SystemExit included, becomes the call's result; the actor lives.
#pragma once

#include <memory>

#include "python_client.h"
#include "wire/actor.h"
#include "worker/mapped_page.h"

namespace fray::python {

struct Host;  // in actor_host.cc

struct PythonActorHost {
  PyObject_HEAD Host* host;

  static constexpr char kTypeName[] = "fray._native.ActorHost";
  static bool is(PyObject* object);
};

// Null with a Python exception set.
PythonActorHost* new_actor_host(PythonClient* owner, PyObject* support, wire::HostActor actor,
                                std::unique_ptr<worker::MappedPage> page);

}  // namespace fray::python
