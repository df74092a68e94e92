// SpanExporter: the process that exports the spans of a C++ program and of its C++ workers: a Python with fray[otel], for the
// SDK of OpenTelemetry is there, with its exporters, samplers and variables.
//
//   SpanExporter exporter = SpanExporter::of_program();  // exporter.worker_variables() go into the keys of workers
//   session.spans = exporter.begin(folder, "");
//   exporter.end();                                      // waits until all is exported, some seconds at most
//
// It begins and ends with the session, and is no child of the program's, which may wait for its own.
//
// Threading:  one thread.
// Ownership:  owns the socket to the process, which ends when that is closed, for whatever reason.
// Failure:    where there is no such Python, or no pipe, nothing is traced but what Python workers do; a Python without
//             fray[otel] says so on standard error.
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
  SpanExporter() = default;  // of a process that is not traced
  static SpanExporter of_program();

  const std::map<std::string, std::string>& worker_variables() const { return worker_variables_; }
  // `python`: the interpreter; empty: as found. Null where nothing is traced.
  std::unique_ptr<Spans> begin(const std::string& folder, const std::string& python);
  void end();

 private:
  std::map<std::string, std::string> worker_variables_;
  std::string service_;
  os::Fd socket_;
  pid_t starter_ = 0;  // forks the process, and ends
};

}  // namespace fray::capi
