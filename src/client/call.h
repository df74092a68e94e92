// Call, ActorRequest: what is to be run, as a program gives it to its Client.
//
// Threading:  values.
// Ownership:  a call owns its task, and with it a count on each of its arguments, until the client has accepted it.
// Failure:    none; the client checks them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "client/tasks/task.h"
#include "model/work_shape.h"

namespace fray::client {

struct TaskOptions {
  WorkShape shape;  // its depth is that of the thread that submits
  std::int32_t max_retries = 3;
  std::uint16_t returns = 1;
  bool generator = false;
};

// A task to be submitted, with its arguments encoded so far.
struct Call {
  std::unique_ptr<Task> task;
  TaskOptions options;
};

// A new actor. `constructor` holds the class as its function.
struct ActorRequest {
  std::string name_space;
  std::string name;  // empty: none
  bool get_if_exists = false;
  bool detached = false;
  std::int32_t max_restarts = 0;  // -1: no limit
  bool event_loop = false;        // the calls run in an event loop
  std::string class_name;
  std::string description;  // what a handle made by name needs
  std::string settings;     // what the worker needs
  Call constructor;
};

}  // namespace fray::client
