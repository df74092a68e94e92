#include "cli/node_http.h"

#include "http/attach.h"

namespace fray::cli {

decltype(node::NodeArguments::attach) with_http(std::uint16_t port) {
  return [port](event::Loop& loop, node::NodeView& node, const std::string& folder) -> Result<node::Attachment> {
    FRAY_ASSIGN_OR_RETURN(http::Attached api, http::attach(loop, node, folder, port));
    return node::Attachment{{{"url", api.url}, {"token_file", api.token_file}}, api.parts};
  };
}

}  // namespace fray::cli
