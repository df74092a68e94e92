// Questions: the questions that were asked over a connection and are not answered yet, by ticket.
//
//   const Ticket ticket = questions.ask();             // goes into the frame's header, and comes back in the answer's
//   questions.answered(ticket, {type, body});     // by whoever reads the socket
//   if (questions.is_answered(ticket)) use(questions.take(ticket));
//   else questions.withdraw(ticket);                   // the deadline has passed, or the user interrupts
//
// An answer may grant something that has to be given back, such as memory or an actor. So a caller says with its
// question what is to be done with an answer that it does not take (`unwanted`), and that is done whether the answer
// comes before the question is withdrawn or after.
//
// Threading:  its owner says which lock guards it; `unwanted` is called under that lock.
// Ownership:  owns the answers. The reader of the socket takes the descriptors that come with them.
// Failure:    an answer to no question is refused. When the connection is lost no answers come any more: end() forgets
//             the questions that were withdrawn, and callers that still wait withdraw theirs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/status.h"
#include "wire/control.h"

namespace fray::door {

using Ticket = std::uint64_t;  // never 0

struct Answer {
  wire::ControlType type = wire::ControlType::kRefused;
  std::string body;
  Status outcome;  // of what whoever read it has done with it already
};

class Questions {
 public:
  using Unwanted = std::function<void(Answer& answer)>;

  Ticket ask(Unwanted unwanted = {});
  // False: nobody has asked that.
  bool answered(Ticket ticket, Answer answer);
  bool is_answered(Ticket ticket) const;
  // Of a question that is answered. The ticket is used up.
  Answer take(Ticket ticket);
  // Nobody waits for it any more. No effect on a ticket that is used up.
  void withdraw(Ticket ticket);
  void end();

  // Questions whose answers have not come, and answers that nobody has taken.
  std::size_t size() const { return questions_.size(); }

 private:
  struct Question {
    Unwanted unwanted;
    std::optional<Answer> answer;
    bool withdrawn = false;
  };

  std::unordered_map<Ticket, Question> questions_;
  Ticket last_ = 0;
  bool ended_ = false;
};

}  // namespace fray::door
