// EndpointRegistry: the names under which tasks of an Iris cluster can be found. The controller keeps them.
//
//   EndpointRegistry registry(jobs.controller());
//   FRAY_RETURN_IF_ERROR(registry.add({.id = new_mark(), .name = "/me/train/metrics", .address = "http://10.0.0.7:30000",
//                                      .task = "/me/train/0", .metadata = {}}, 0));
//   FRAY_ASSIGN_OR_RETURN(const auto found, registry.list("/me/train/metrics", true));
//
// The controller removes an entry when the attempt of the task that registered it ends. Several entries may have the
// same name.
//
// Threading:  any thread. Calls block for the patience at most.
// Ownership:  values, which share the login of the jobs' client.
// Failure:    the codes of Controller; kNotFound and kInvalidArgument for a task, or an attempt of it, that does not
//             run.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"

namespace fray::iris {

class Controller;

struct RegisteredEndpoint {
  std::string id;  // chosen by the client, so that a registration may be sent twice
  std::string name;
  std::string address;  // a URL, or host:port
  std::string task;     // the id of the task, without the number of the attempt
  std::map<std::string, std::string> metadata;
};

class EndpointRegistry {
 public:
  explicit EndpointRegistry(std::shared_ptr<const Controller> controller) : controller_(std::move(controller)) {}

  Status add(const RegisteredEndpoint& endpoint, int attempt) const;
  // Removes an entry. An entry that is gone already is no failure.
  Status remove(const std::string& id) const;
  // The entries whose name is `name`; without `exact` those whose name begins with it.
  Result<std::vector<RegisteredEndpoint>> list(const std::string& name, bool exact) const;

 private:
  std::shared_ptr<const Controller> controller_;
};

}  // namespace fray::iris
