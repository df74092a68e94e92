#include "base/fault.h"

#ifndef NDEBUG

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>
#include <string_view>

namespace fray {

namespace {

struct Fault {
  std::string point;
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::atomic<std::uint32_t> passes{0};
};

std::uint32_t number_in(std::string_view text) {
  std::uint32_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number > 0) return number;
  std::fprintf(stderr, "FRAY_FAULT is a list of point:N, point:N+ and point:N-M\n");
  std::_Exit(2);
}

void add_fault(std::deque<Fault>& faults, std::string_view text) {
  if (text.empty()) return;
  std::size_t colon = text.find(':');
  std::string_view when = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  Fault& fault = faults.emplace_back();
  fault.point = text.substr(0, colon);
  if (when.ends_with('+')) {
    fault.first = number_in(when.substr(0, when.size() - 1));
    fault.last = UINT32_MAX;
    return;
  }
  std::size_t dash = when.find('-');
  fault.first = number_in(when.substr(0, dash));
  fault.last = dash == std::string_view::npos ? fault.first : number_in(when.substr(dash + 1));
}

std::deque<Fault>& faults() {
  static std::deque<Fault> all = [] {
    std::deque<Fault> found;
    const char* text = std::getenv("FRAY_FAULT");
    std::string_view rest = text == nullptr ? "" : text;
    while (!rest.empty()) {
      std::size_t comma = rest.find(',');
      add_fault(found, rest.substr(0, comma));
      rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    }
    return found;
  }();
  return all;
}

}  // namespace

bool fault_is_due(const char* name, int error) {
  for (Fault& fault : faults()) {
    if (fault.point != name) continue;
    std::uint32_t pass = fault.passes.fetch_add(1, std::memory_order_relaxed) + 1;
    if (pass < fault.first || pass > fault.last) continue;
    errno = error;
    return true;
  }
  return false;
}

}  // namespace fray

#endif
