#include "door/questions.h"

#include <utility>

#include "base/check.h"

namespace fray::door {

Ticket Questions::ask(Unwanted unwanted) {
  questions_.emplace(++last_, Question{std::move(unwanted), std::nullopt, false});
  return last_;
}

bool Questions::answered(Ticket ticket, Answer answer) {
  auto found = questions_.find(ticket);
  if (found == questions_.end() || found->second.answer) return false;
  if (!found->second.withdrawn) {
    found->second.answer = std::move(answer);
    return true;
  }
  const Question over = std::move(found->second);
  questions_.erase(found);
  if (over.unwanted) over.unwanted(answer);
  return true;
}

bool Questions::is_answered(Ticket ticket) const {
  auto found = questions_.find(ticket);
  return found != questions_.end() && found->second.answer.has_value();
}

Answer Questions::take(Ticket ticket) {
  FRAY_CHECK(is_answered(ticket), "an answer is taken that has not come");
  return std::move(*questions_.extract(ticket).mapped().answer);
}

void Questions::withdraw(Ticket ticket) {
  auto found = questions_.find(ticket);
  if (found == questions_.end()) return;
  if (!found->second.answer && !ended_) {
    found->second.withdrawn = true;
    return;
  }
  Question over = std::move(found->second);
  questions_.erase(found);
  if (over.answer && over.unwanted) over.unwanted(*over.answer);
}

void Questions::end() {
  ended_ = true;
  std::erase_if(questions_, [](const auto& each) { return each.second.withdrawn; });
}

}  // namespace fray::door
