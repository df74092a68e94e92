// For tests: a client whose node is played by the test.
//
// Threading:  the test's.
// Ownership:  owns both ends.
// Failure:    aborts when the system gives no socket.
#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "client/client.h"
#include "door/greeting.h"
#include "os/sockets/socket_pair.h"
#include "wire/welcome.h"

namespace fray::client {

// The node's end of a client that has been welcomed.
struct PlayedNode {
  explicit PlayedNode(ClientOptions options = {}) {
    auto ends = os::make_socket_pair().value();
    socket = wire::FrameSocket(std::move(ends.first));
    wire::Welcome welcome;
    welcome.session.epoch = 7;
    welcome.session.process = 1;
    welcome.session.max_workers = 4;
    send(wire::ControlType::kWelcome, 0, welcome);
    options.control = std::move(ends.second);
    client = Client::connect(std::move(options)).value();
  }

  template <typename Message>
  void send(wire::ControlType type, std::uint64_t id, const Message& message) {
    socket.queue(wire::frame(type, id, message));
    EXPECT_TRUE(socket.flush().is_ok());
  }
  // The next frame of this type; others are passed over.
  wire::Incoming expect(wire::ControlType type) {
    while (true) {
      auto frame = door::next_frame(socket, door::Patience::of(std::chrono::seconds(30)));
      if (!frame.is_ok()) {
        ADD_FAILURE() << frame.status().message();
        return {};
      }
      if (frame->header.type == static_cast<std::uint8_t>(type)) return std::move(*frame);
    }
  }

  wire::FrameSocket socket;
  std::unique_ptr<Client> client;
};

}  // namespace fray::client
