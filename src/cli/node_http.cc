#include "cli/node_http.h"

#include "http/attach.h"

namespace fray::cli {

decltype(node::NodeArguments::attach) with_http(std::uint16_t port) {
  return [port](event::Loop& loop, const std::string& folder, const std::string& socket) -> Result<node::Attachment> {
    FRAY_ASSIGN_OR_RETURN(http::Attached api, http::attach(loop, folder, socket, port));
    return node::Attachment{{{"url", api.url}, {"token_file", api.token_file}}, api.parts};
  };
}

}  // namespace fray::cli
