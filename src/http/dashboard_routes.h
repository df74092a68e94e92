// The routes of the dashboard: its page, its login, and what it is told, under /api/v1/dashboard.
//
// Threading:  the loop's.
// Ownership:  node and sessions must outlive the table.
// Failure:    what is asked wrongly is 400, what is not there 404; a link that does not work is a page that says so.
#pragma once

#include "http/page_files.h"
#include "http/route_table.h"
#include "http/sessions.h"
#include "node/node_view.h"

namespace fray::http {

inline constexpr std::size_t kMostLiveStreams = 32;

void add_dashboard_routes(RouteTable& routes, node::NodeView& node, Sessions& sessions, PageFiles files);

}  // namespace fray::http
