#include "wire/control.h"

#include <gtest/gtest.h>

#include "wire/demand.h"
#include "wire/lease.h"
#include "wire/message_test.h"
#include "wire/object.h"
#include "wire/worker_key.h"

namespace fray::wire {
namespace {

TEST(Control, WorkerKeyReadsBackAsWritten) {
  DefineKey message;
  message.key = 3;
  message.prestart = 2;
  message.description = {
      {"python", "-B"}, {"/a", "/b"}, "/home", {{"NAME", "value"}, {"EMPTY", ""}}, R"({"packages": ["six"]})"};
  EXPECT_EQ(round_trip(message).description, message.description);
}

TEST(Control, DemandKeepsItsShapeWithFractionsOfResourcesExactly) {
  Demand message;
  message.count = 5;
  ASSERT_TRUE(message.shape.resources.set("GPU", 0.3).is_ok());
  ASSERT_TRUE(message.shape.resources.set("CPU", 1).is_ok());
  EXPECT_EQ(round_trip(message).shape.resources, message.shape.resources);
}

TEST(Control, DevicesReadBackAsWritten) {
  BindDevices message;
  message.devices = {{"GPU", {0, 3}}, {"TPU", {}}};
  message.environment = {{"CUDA_VISIBLE_DEVICES", "0,3"}};
  BindDevices read = round_trip(message);
  EXPECT_EQ(read.devices, message.devices);
  EXPECT_EQ(read.environment, message.environment);
}

TEST(Control, ExitFactsReadBackAsWritten) {
  WorkerLost message;
  message.facts = {10, 0, 9, 1 << 20, 42, "task", "last words", "by the node"};
  WorkerLost read = round_trip(message);
  EXPECT_EQ(read.facts.signal, 9);
  EXPECT_EQ(read.facts.last_task, 42u);
  EXPECT_EQ(read.facts.log_tail, "last words");
  EXPECT_EQ(read.facts.out_of_memory, "by the node");
}

TEST(Control, NegativeResourceAmountIsRefused) {
  Demand message;
  message.shape.resources.set_units("CPU", -1);
  EXPECT_FALSE(decode<Demand>(encoded(message)).is_ok());
}

TEST(Control, AbsurdCountDoesNotReserveMemory) {
  std::string bytes(4, '\xff');
  EXPECT_FALSE(decode<ObjectIds>(bytes).is_ok());
}

TEST(Control, FrameOfAnotherVersionIsRefusedWithBothVersions) {
  FrameHeader header;
  header.version = 0xF1FF;
  Status status = validate(header);
  EXPECT_EQ(status.code(), StatusCode::kCorruption);
  EXPECT_NE(status.message().find("0xf1ff"), std::string::npos);
}

TEST(Control, OversizedFrameIsRefused) {
  FrameHeader header;
  header.length = kMaxBodyBytes + 1;
  EXPECT_FALSE(validate(header).is_ok());
}

}  // namespace
}  // namespace fray::wire
