// Questions: what was asked over a connection and is not answered yet, by ticket.
//
//   const Ticket ticket = questions.ask();             // goes into the frame's header, and comes back in the answer's
//   questions.answered(ticket, {type, body});     // by whoever reads the socket
//   if (questions.is_answered(ticket)) use(questions.take(ticket));
//   else questions.withdraw(ticket);                   // the deadline has passed, or the user interrupts
//
// An answer may give something that has to be given back, such as memory or an actor. So who asks says what is to be done
// with an answer that nobody takes, and that is done whenever it comes: before the question is withdrawn, or after.
//
// Threading:  whoever owns it says which lock guards it; `unwanted` is called under that lock.
// Ownership:  owns the answers. Descriptors that come with one are taken by whoever reads the socket.
// Failure:    an answer to no question is refused. When the connection is lost nobody answers any more: end() forgets the
//             questions that were withdrawn, and those who still wait withdraw theirs.
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
