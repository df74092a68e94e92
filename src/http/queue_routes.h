// The routes of queues, under /api/v1/queues.
//
// Threading:  the loop's.
// Ownership:  the node must outlive the table.
// Failure:    what is asked wrongly is 400, an unknown queue 404, a full disk 507. A pop whose client goes while it waits
//             leases nothing.
#pragma once

#include "http/route_table.h"
#include "node/node_view.h"

namespace fray::http {

void add_queue_routes(RouteTable& routes, node::NodeView& node);

}  // namespace fray::http
