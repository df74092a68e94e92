#include "capi/resources.h"

#include "capi/session.h"

namespace fray::capi {

Status set_resources(ResourceSet* set, double num_cpus, const fray_resource* resources, std::size_t count) {
  FRAY_RETURN_IF_ERROR(set->set("CPU", num_cpus));
  for (std::size_t i = 0; i < count; ++i) FRAY_RETURN_IF_ERROR(set->set(resources[i].name, resources[i].amount));
  return Status::ok();
}

}  // namespace fray::capi

double fray_total_resource(fray_session* session, const char* name) { return session->client->total().amount(name); }
