// The routes of queues, under /api/v1/queues.
//
// Threading:  the loop's.
// Ownership:  the node must outlive the table.
// Failure:    what is asked wrongly is 400, an unknown queue 404, a full disk 507. A pop whose client goes while it waits
//             leases nothing. Who would wait beside kMostQueueWaiters others is told at once that there is nothing, so that
//             those who push still find a connection.
#pragma once

#include <cstddef>

#include "http/route_table.h"
#include "http/server.h"
#include "node/node_view.h"

namespace fray::http {

inline constexpr std::size_t kMostQueueWaiters = Server::kMostConnections / 2;

void add_queue_routes(RouteTable& routes, node::NodeView& node);

}  // namespace fray::http
