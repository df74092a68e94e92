// DescriptorRoom: tells whether this process could open some more descriptors and still have enough for everything
// else.
//
//   DescriptorRoom room;
//   if (!room.has_room_for(promised + 1)) ...     // several were promised to others and are not open yet
//
// Threading:  one thread.
// Ownership:  none.
// Failure:    where the descriptors cannot be counted, there is no room.
#pragma once

#include <cstddef>
#include <string>

namespace fray::os {

class DescriptorRoom {
 public:
  // A reserve of a sixth of the limit, at most kMostSpare, stays free besides these.
  bool has_room_for(std::size_t more);
  // "150 of 200 descriptors are in use"
  std::string text() const;

  static constexpr std::size_t kMostSpare = 512;

 private:
  std::size_t unseen_ = 0;  // so many questions may be answered with yes before the descriptors are counted again
};

}  // namespace fray::os
