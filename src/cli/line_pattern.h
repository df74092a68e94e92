// LinePattern: the regular expression that chooses lines of a job's output, in the syntax of Perl (PCRE2).
//
// Threading:  one thread.
// Ownership:  owns the compiled expression.
// Failure:    kInvalidArgument for a text that is no expression, and for one that takes more than some seconds on a line:
//             whatever a user gives, the search ends, and it takes no stack.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

struct pcre2_real_code_8;
struct pcre2_real_match_context_8;
struct pcre2_real_match_data_8;

namespace fray::cli {

class LinePattern {
 public:
  static Result<LinePattern> compile(const std::string& expression);

  // Whether a part of `line` matches. Bytes that are no UTF-8 match nothing.
  Result<bool> is_in(std::string_view line) const;

 private:
  struct Free {
    void operator()(pcre2_real_code_8* code) const;
    void operator()(pcre2_real_match_context_8* context) const;
    void operator()(pcre2_real_match_data_8* data) const;
  };

  LinePattern(std::string expression, pcre2_real_code_8* code);

  Status takes_too_long(std::string_view line) const;

  std::string expression_;
  std::unique_ptr<pcre2_real_code_8, Free> code_;
  std::unique_ptr<pcre2_real_match_context_8, Free> limits_;
  std::unique_ptr<pcre2_real_match_data_8, Free> found_;
};

}  // namespace fray::cli
