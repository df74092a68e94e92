#include "iris/endpoint_registry.h"

#include <utility>

#include "iris/controller.h"
#include "iris/messages.h"

namespace fray::iris {

Status EndpointRegistry::add(const RegisteredEndpoint& endpoint, int attempt) const {
  const wire::RegisterEndpointRequest question{.name = endpoint.name,
                                               .address = endpoint.address,
                                               .task_id = endpoint.task,
                                               .metadata = endpoint.metadata,
                                               .attempt_id = attempt,
                                               .endpoint_id = endpoint.id};
  return controller_->ask<wire::RegisterEndpointResponse>(kRegisterEndpoint, "register " + endpoint.name, question)
      .status();
}

Status EndpointRegistry::remove(const std::string& id) const {
  const wire::UnregisterEndpointRequest question{id};
  return controller_->ask<wire::Empty>(kUnregisterEndpoint, "forget the endpoint " + id, question).status();
}

Result<std::vector<RegisteredEndpoint>> EndpointRegistry::list(const std::string& name, bool exact) const {
  const wire::ListEndpointsRequest question{.prefix = name, .exact = exact};
  FRAY_ASSIGN_OR_RETURN(auto answer, controller_->ask<wire::ListEndpointsResponse>(
                                         kListEndpoints, "list the endpoints " + name, question));
  std::vector<RegisteredEndpoint> found;
  for (wire::Endpoint& each : answer.endpoints) {
    found.push_back({std::move(each.endpoint_id), std::move(each.name), std::move(each.address),
                     std::move(each.task_id), std::move(each.metadata)});
  }
  return found;
}

}  // namespace fray::iris
