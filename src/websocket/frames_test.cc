#include "websocket/frames.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fray::websocket {
namespace {

std::string masked_frame(unsigned char opcode, std::string_view payload) {
  const std::string mask = "\x01\x02\x03\x04";
  std::string frame(1, static_cast<char>(0x80 | opcode));
  frame += static_cast<char>(0x80 | payload.size());
  frame += mask;
  for (std::size_t i = 0; i < payload.size(); ++i) frame += static_cast<char>(payload[i] ^ mask[i % 4]);
  return frame;
}

TEST(WebsocketTest, the_key_is_that_of_the_standards_example) {
  EXPECT_EQ(accept_key("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(WebsocketTest, lengths_are_written_in_their_three_forms) {
  EXPECT_EQ(text_frame("abc"), std::string("\x81\x03") + "abc");
  EXPECT_EQ(text_frame(std::string(300, 'x')).substr(0, 4), std::string("\x81\x7E\x01\x2C"));
  EXPECT_EQ(text_frame(std::string(70'000, 'x')).substr(0, 10), std::string("\x81\x7F\0\0\0\0\0\x01\x11\x70", 10));
}

TEST(WebsocketTest, a_clients_ping_is_answered_and_its_close_seen_however_they_are_cut) {
  const std::string bytes = masked_frame(1, "ignored") + masked_frame(9, "ab") + masked_frame(8, "\x03\xe8");
  ControlReader reader;
  std::string pongs;
  bool closed = false;
  for (char byte : bytes) {
    auto seen = reader.take(std::string_view(&byte, 1));
    ASSERT_TRUE(seen.is_ok());
    pongs += seen->pongs;
    closed = closed || seen->closed;
  }
  EXPECT_EQ(pongs, pong_frame("ab"));
  EXPECT_TRUE(closed);
}

TEST(WebsocketTest, frames_that_no_client_sends_end_the_connection) {
  EXPECT_FALSE(ControlReader()
                   .take("\x81\x03"
                         "abc")
                   .is_ok());
  EXPECT_FALSE(ControlReader().take(std::string("\x81\xFF\x7F\0\0\0\0\0\0\0mask", 14)).is_ok());
}

using Event = MessageReader::Event;

// All events of the bytes, given one at a time.
std::vector<Event> events_of(std::string_view bytes, Status* failure = nullptr) {
  MessageReader reader(1 << 20);
  std::vector<Event> events;
  for (char byte : bytes) {
    reader.add({&byte, 1});
    while (true) {
      auto event = reader.next();
      if (!event.is_ok() && failure != nullptr) *failure = event.status();
      if (!event.is_ok() || !*event) break;
      events.push_back(**event);
    }
  }
  return events;
}

Status failure_of(std::string_view bytes) {
  Status failure;
  (void)events_of(bytes, &failure);
  return failure;
}

TEST(WebsocketTest, a_client_reads_messages_in_parts_with_pings_between_them) {
  const auto events = events_of(std::string("\x01\x02on") + ping_frame() + pong_frame("x") +
                                "\x80\x01"
                                "e" +
                                text_frame(std::string(70'000, 'y')) + close_frame(kNormal));
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].kind, Event::Kind::kPing);
  EXPECT_EQ(events[1].payload, "one");
  EXPECT_EQ(events[2].payload, std::string(70'000, 'y'));
  EXPECT_EQ(events[3].kind, Event::Kind::kClose);
  EXPECT_EQ(events[3].code, kNormal);
}

TEST(WebsocketTest, many_messages_at_once_are_read_one_by_one) {
  MessageReader reader(100);
  std::string bytes;
  for (int i = 0; i < 1'000; ++i) bytes += text_frame(std::to_string(i));
  reader.add(bytes);
  for (int i = 0; i < 1'000; ++i) {
    auto event = reader.next();
    ASSERT_TRUE(event.is_ok() && *event);
    EXPECT_EQ((*event)->payload, std::to_string(i));
  }
  EXPECT_FALSE(*reader.next());
}

TEST(WebsocketTest, frames_that_no_server_sends_are_refused) {
  using testing::HasSubstr;
  EXPECT_THAT(failure_of(masked(text_frame("a"))).message(), HasSubstr("masked"));
  EXPECT_THAT(failure_of("\xC1\x01"
                         "a")
                  .message(),
              HasSubstr("extension"));
  EXPECT_THAT(failure_of("\x83\x01"
                         "a")
                  .message(),
              HasSubstr("unknown kind"));
  EXPECT_THAT(failure_of("\x80\x01"
                         "a")
                  .message(),
              HasSubstr("out of order"));
  EXPECT_THAT(failure_of(std::string("\x01\x01"
                                     "a") +
                         text_frame("b"))
                  .message(),
              HasSubstr("out of order"));
  EXPECT_THAT(failure_of("\x09\x01"
                         "a")
                  .message(),
              HasSubstr("in parts"));
  EXPECT_THAT(failure_of("\x89\x7E").message(), HasSubstr("long"));
  EXPECT_THAT(failure_of("\x81\x01\xFF").message(), HasSubstr("UTF-8"));
  EXPECT_THAT(failure_of(std::string("\x81\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 10)).message(), HasSubstr("large"));
}

TEST(WebsocketTest, a_message_in_many_parts_is_limited_as_a_whole) {
  std::string bytes = std::string("\x01\x32") + std::string(50, 'a');
  for (int i = 0; i < 2; ++i) bytes += std::string("\x00\x32", 2) + std::string(50, 'a');
  MessageReader reader(100);
  reader.add(bytes);
  EXPECT_FALSE(reader.next().is_ok());
}

TEST(WebsocketTest, what_a_client_masks_a_server_reads) {
  ControlReader reader;
  const std::string payload(125, 'p');
  std::string ping = pong_frame(payload);
  ping[0] = static_cast<char>(0x89);
  auto seen = reader.take(masked(text_frame(std::string(300, 'x'))) + masked(ping) + masked(close_frame(kNormal)));
  ASSERT_TRUE(seen.is_ok()) << seen.status().message();
  EXPECT_EQ(seen->pongs, pong_frame(payload));
  EXPECT_TRUE(seen->closed);
  EXPECT_NE(new_key(), new_key());
  EXPECT_EQ(new_key().size(), 24u);
}

TEST(WebsocketTest, text_is_utf8_whatever_the_bytes_are) {
  std::string rest;
  EXPECT_EQ(as_text("a\xC3", &rest), "a");
  EXPECT_EQ(as_text("\xBC"
                    "b",
                    &rest),
            "\xC3\xBC"
            "b");
  EXPECT_EQ(as_text("\xFF\xC3(", &rest), "\xEF\xBF\xBD\xEF\xBF\xBD(");
  EXPECT_EQ(as_text("\xED\xA0\x80", &rest), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // half of a surrogate pair
  EXPECT_EQ(as_text("\xF0\x9F\x98", &rest), "");
  EXPECT_EQ(as_text("\x80", &rest), "\xF0\x9F\x98\x80");
  EXPECT_EQ(rest, "");
}

}  // namespace
}  // namespace fray::websocket
