// Values: what arrives is what was sent, without a copy where it is large.
#include <limits>
#include <numeric>

#include "cpp/session_fixture.h"

namespace jobs {
namespace {

using ::testing::HasSubstr;

class CppValue : public InSession {
 protected:
  template <typename T>
  T there_and_back(const T& value) {
    return fray::get(fray::put(value)).value_or_throw();
  }
};

TEST_F(CppValue, NumbersKeepTheirLimits) {
  EXPECT_EQ(there_and_back(std::numeric_limits<std::int64_t>::min()), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(there_and_back(std::numeric_limits<std::uint64_t>::max()), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(there_and_back(true), true);
  EXPECT_EQ(there_and_back(-0.5), -0.5);
  for (int number : {-33, -32, -1, 0, 127, 128, 255, 65536}) {
    EXPECT_EQ(there_and_back(std::vector<int>{number}), std::vector<int>{number});
  }
}

TEST_F(CppValue, TextOfEverySizeArrives) {
  for (std::size_t size : {0u, 1u, 31u, 32u, 8192u, 8193u, 300'000u}) {
    EXPECT_EQ(there_and_back(std::string(size, 'x')), std::string(size, 'x'));
  }
  EXPECT_EQ(fray::get(fray::submit(join, std::vector<std::string>{"a", "b"}, ", ")).value_or_throw(), "a, b");
}

TEST_F(CppValue, BytesArriveThroughSharedMemory) {
  for (std::size_t size : {0u, 5u, 100'000u}) {
    fray::Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i);
    fray::Bytes back = fray::get(fray::submit(reversed, std::span<const std::byte>(bytes))).value_or_throw();
    EXPECT_EQ(fray::Bytes(back.rbegin(), back.rend()), bytes);
  }
}

TEST_F(CppValue, SpansAndArraysArriveWhateverTheirSize) {
  for (std::size_t size : {0u, 3u, 512u, 513u, 200'000u}) {
    std::vector<double> values(size);
    std::iota(values.begin(), values.end(), 0.0);
    const double total = std::accumulate(values.begin(), values.end(), 0.0);
    EXPECT_EQ(fray::get(fray::submit(sum, values)).value_or_throw(), total);
    fray::Array<double> array = fray::get(fray::submit(ramp, size)).value_or_throw();
    EXPECT_EQ(std::vector<double>(array.begin(), array.end()), values);
  }
}

TEST_F(CppValue, ArrayIsNotCopiedByGetAndOutlivesItsSession) {
  fray::Array<double> one, other;
  {
    fray::ObjectRef<fray::Array<double>> ref = fray::submit(ramp, 100'000);
    one = fray::get(ref).value_or_throw();
    other = fray::get(ref).value_or_throw();
  }
  EXPECT_EQ(one.data(), other.data());
  session.close();
  EXPECT_EQ(one[99'999], 99'999.0);
}

TEST_F(CppValue, RoomThatWasPutReadsBackAsWritten) {
  auto room = fray::empty<float>({100, 50}).value_or_throw();
  std::fill(room.span().begin(), room.span().end(), 1.5f);
  fray::ObjectRef<fray::Array<float>> ref = fray::put(std::move(room));
  fray::Array<float> array = fray::get(ref).value_or_throw();
  EXPECT_EQ(array.data(), fray::get(ref).value_or_throw().data());
  EXPECT_THAT(array.shape(), ::testing::ElementsAre(100, 50));
  EXPECT_EQ(array(99, 49), 1.5f);
}

TEST_F(CppValue, StructsTravelInsideContainers) {
  std::vector<Point> points{{1, 2, "a"}, {3, 4, std::nullopt}, {5, 6, "a"}};
  auto groups = fray::get(fray::submit(by_label, points)).value_or_throw();
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups["a"].size(), 2u);
  EXPECT_EQ(groups[""].front().x, 3);
  Point mirror = fray::get(fray::submit(mirrored, points[0])).value_or_throw();
  EXPECT_EQ(mirror.y, -2);
  EXPECT_EQ(mirror.label, "a");
}

TEST_F(CppValue, FreeFunctionsMakeATypeTravel) {
  EXPECT_NEAR(fray::get(fray::submit(warmer, Celsius{20})).value_or_throw().degrees, 21, 1e-9);
  auto ref = fray::submit(warmer, fray::ObjectRef<Celsius>(fray::put(-1.0)));
  EXPECT_THAT(failure(fray::get(ref)), HasSubstr("below absolute zero"));
}

TEST_F(CppValue, DynamicValueKeepsItsParts) {
  fray::Value value(fray::Value::Dict{{"list", fray::Value::List{1, 2.5, "three", fray::Value(), true}},
                                      {"big", std::numeric_limits<std::uint64_t>::max()}});
  fray::Value back = fray::get(fray::submit(same, value)).value_or_throw();
  EXPECT_EQ(back.at("list").size(), 5u);
  EXPECT_EQ(back.at("list").at(2).to<std::string>().value_or_throw(), "three");
  EXPECT_TRUE(back.at("list").at(3).is_none());
  EXPECT_TRUE(back.at("missing").is_none());
  EXPECT_EQ(back.at("big").to<std::uint64_t>().value_or_throw(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(back.at("big").to<int>().status().code(), fray::Code::kWrongType);
}

TEST_F(CppValue, RefOfAnotherTypeIsAnErrorThatNamesBoth) {
  fray::ObjectRef<int> wrong(fray::AnyRef(fray::put(std::string("text"))));
  EXPECT_EQ(fray::get(wrong).status().code(), fray::Code::kWrongType);
  EXPECT_THAT(failure(fray::get(wrong)), HasSubstr("expected int, got str"));
  EXPECT_THAT(failure(fray::get(fray::submit(add, wrong, 1))), HasSubstr("argument 0: expected int, got str"));
  fray::ObjectRef<fray::Array<float>> floats(fray::AnyRef(fray::submit(ramp, 10)));
  EXPECT_THAT(failure(fray::get(floats)), HasSubstr("'<f8', not '<f4'"));
  fray::ObjectRef<std::int8_t> small(fray::AnyRef(fray::put(1000)));
  EXPECT_THAT(failure(fray::get(small)), HasSubstr("does not fit into 8 bits"));
}

TEST_F(CppValue, EmptyRefSaysSo) {
  EXPECT_THAT(failure(fray::get(fray::ObjectRef<int>())), HasSubstr("empty"));
  EXPECT_THAT(failure(fray::get(fray::submit(add, fray::ObjectRef<int>(), 1))), HasSubstr("empty ref"));
}

TEST(CppUnpacker, BrokenBytesAreBrokenAndNeverRead) {
  for (int first = 0; first < 256; ++first) {
    for (std::size_t size = 0; size < 12; ++size) {
      std::string bytes(size + 1, '\xFF');
      bytes[0] = static_cast<char>(first);
      fray::Unpacker unpacker(bytes);
      for (int items = 0; items < 20 && unpacker.next().kind != fray::Kind::kBroken; ++items) {
      }
    }
  }
}

}  // namespace
}  // namespace jobs
