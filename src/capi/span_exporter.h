// SpanExporter: the process that exports the spans of a C++ program and of its C++ workers. It is a Python process with
// fray[otel], because Python has the SDK of OpenTelemetry with its exporters, samplers and variables.
//
//   SpanExporter exporter = SpanExporter::of_program();  // exporter.worker_variables() go into the keys of workers
//   session.spans = exporter.begin(folder, "");
//   exporter.end();                                      // waits until all spans are exported, some seconds at most
//
// The process begins and ends with the session. It is no child of the program, which may wait for all its children.
//
// Threading:  one thread.
// Ownership:  owns the socket to the process, which ends when the socket is closed, even if the program crashes.
// Failure:    without such a Python, or without a pipe, only calls that Python workers run are traced; a Python without
//             fray[otel] prints on standard error what is missing.
#pragma once

#include <map>
#include <memory>
#include <string>

#include <sys/types.h>

#include "capi/spans.h"
#include "os/fd.h"

namespace fray::capi {

class SpanExporter {
 public:
  SpanExporter() = default;  // for a process that is not traced: begin() returns null
  static SpanExporter of_program();

  const std::map<std::string, std::string>& worker_variables() const { return worker_variables_; }
  // `python`: the interpreter; if empty, it is searched for. Null if C++ code is not traced.
  std::unique_ptr<Spans> begin(const std::string& folder, const std::string& python);
  void end();

 private:
  std::map<std::string, std::string> worker_variables_;
  std::string service_;
  os::Fd socket_;
  pid_t starter_ = 0;  // the child that forks the exporting process and ends
};

}  // namespace fray::capi
