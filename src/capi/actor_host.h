// host_actor(): makes an actor's instance in this worker and runs its calls until the node ends the worker.
//
// Threading:  the worker's main thread; with max_concurrency n it starts n - 1 further ones, which end with the process.
// Ownership:  owns the instance.
// Failure:    a constructor that fails is told to the node, and through it to all callers; a method that fails fails its
//             call.
#pragma once

#include "capi/session.h"
#include "wire/actor.h"
#include "worker/task_loop.h"

namespace fray::capi {

void host_actor(fray_session& session, worker::Page& page, const wire::HostActor& actor);

}  // namespace fray::capi
