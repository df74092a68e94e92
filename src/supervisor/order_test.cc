#include "supervisor/order.h"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "os/files/whole_file.h"
#include "wire/field_text_test.h"
#include "wire/message_test.h"

namespace fray::supervisor {
namespace {

class OrderFile : public testing::Test {
 protected:
  OrderFile() { order_.command = {"sh", "-c", "true"}; }
  ~OrderFile() override { std::filesystem::remove(path_); }

  StatusCode code_of(const std::string& bytes) {
    EXPECT_TRUE(os::write_file(path_, bytes, os::Durability::kNone).is_ok());
    return Order::read(path_).status().code();
  }

  Order order_;
  const std::string path_ = testing::TempDir() + "order." + std::to_string(::getpid());
};

TEST_F(OrderFile, ReadsBackAsWritten) {
  order_.job = "a-1";
  order_.attempt = 7;
  order_.variables = {{"B", "2"}, {"A", ""}, {"B", "again"}};
  order_.grace_seconds = 0.25;
  order_.dies_with = 4711;
  order_.log.segments = 3;
  order_.limits.processes_by_group_only = true;
  ASSERT_TRUE(order_.write(path_).is_ok());
  const Order read = Order::read(path_).value();
  EXPECT_EQ(wire::encoded(read), wire::encoded(order_));
  EXPECT_EQ(read.variables, order_.variables);
  EXPECT_EQ(read.dies_with, 4711);
  EXPECT_TRUE(read.limits.processes_by_group_only);
}

TEST_F(OrderFile, IsRefusedWhenItIsCutOffOrGoesOnOrIsOfAnotherFormat) {
  ASSERT_TRUE(order_.write(path_).is_ok());
  const std::string whole = os::read_file(path_).value();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(code_of(whole.substr(0, size)), StatusCode::kCorruption) << size;
  }
  EXPECT_EQ(code_of(whole + "x"), StatusCode::kCorruption);
  std::string later = whole;
  ++later[0];
  EXPECT_EQ(code_of(later), StatusCode::kCorruption);
  EXPECT_EQ(code_of(whole), StatusCode::kOk);
}

TEST_F(OrderFile, IsRefusedWithoutACommand) {
  order_.command.clear();
  ASSERT_TRUE(order_.write(path_).is_ok());
  EXPECT_EQ(Order::read(path_).status().message(), path_ + " is no order of this release");
}

TEST(OrderFields, AreAllListedAndReadBackWhateverTheyAre) {
  EXPECT_EQ(wire::fields_of<Order>(), wire::members_of<Order>());
  EXPECT_EQ(wire::fields_of<LogLimits>(), wire::members_of<LogLimits>());
  EXPECT_EQ(wire::fields_of<os::LimitRequest>(), wire::members_of<os::LimitRequest>());
  for (std::uint32_t seed = 1; seed <= 20; ++seed) wire::expect_any_reads_back<Order>(seed);
}

TEST(OrderFields, PageSaysWhatTheListsSay) {
  wire::FieldText fields;
  const std::string order = fields.of<Order>();
  wire::expect_page(
      "job-order.md",
      fmt::format(
          "# The order of an attempt\n\n"
          "Written from the lists of fields in `src/supervisor/order.h` by `supervisor_test`; do not edit. "
          "`FRAY_WRITE_PAGES=1 build/dev/src/supervisor_test --gtest_filter='OrderFields.*'` writes it anew.\n\n"
          "The file `order` in the folder of an attempt of a job tells the supervisor what to do. It is a u32 with the "
          "format, which is {}, and then the fields of Order, encoded as those of [messages](messages.md).\n\n"
          "| struct | fields |\n| --- | --- |\n| Order | {} |\n{}",
          Order::kFormat, order, fields.parts()));
}

}  // namespace
}  // namespace fray::supervisor
