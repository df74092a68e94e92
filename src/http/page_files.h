// PageFiles: the files of the dashboard's page, as `make dashboard` builds them into the package.
//
//   <package>/_dashboard/index.html          for every path of the page, so that each can be reloaded and sent on
//                        assets/<name>       named by their contents: a browser keeps them for ever
//                        assets/<name>.gz    sent in its place to those who take it
//
// The files hold nothing of a node, so anybody may have them; what the page shows it asks for with its login.
//
// Threading:  any thread; reads files.
// Ownership:  values.
// Failure:    a page that was not built is told in a sentence.
#pragma once

#include <string>

#include "http/message.h"

namespace fray::http {

class PageFiles {
 public:
  explicit PageFiles(std::string folder) : folder_(std::move(folder)) {}
  // The folder of the package that this program belongs to, or the one beside the program.
  static PageFiles of_this_program();

  // `framed`: pages of this machine, such as a notebook, may show it in a frame.
  Response page(bool framed) const;
  Response asset(const Request& request) const;

 private:
  std::string folder_;
};

}  // namespace fray::http
