#include "client/session/node_link.h"

namespace fray::client {

namespace {
constexpr std::size_t kBatchLimit = 4096;
}

void NodeLink::record(wire::ControlType type, ObjectId id) {
  if (type != batch_type_ || batch_.ids.size() >= kBatchLimit) end_batch();
  batch_type_ = type;
  note_unsent();
  batch_.ids.push_back(id);
}

void NodeLink::end_batch() {
  if (batch_.ids.empty()) return;
  if (socket_.is_open()) socket_.queue(wire::frame(batch_type_, 0, batch_));
  batch_.ids.clear();
}

bool NodeLink::flush() {
  if (!socket_.is_open()) {
    batch_.ids.clear();
    return false;
  }
  end_batch();
  // The reader finds a broken socket and informs every waiter.
  return socket_.flush().is_ok();
}

}  // namespace fray::client
