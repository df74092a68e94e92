// current_trace(): the trace context of what this thread runs, which goes along with what it calls: a W3C traceparent,
// such as 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.
//
// In a task or a call of an actor it is that of its span, or its caller's where it has none (capi/spans.h). Anywhere else it is
// TRACEPARENT of the environment where FRAY_OTEL is set.
//
// Threading:  any thread.
// Ownership:  a view of the running call's frame, or of a text that lives as long as the process.
// Failure:    empty where there is none, and where TRACEPARENT does not look like one.
#pragma once

#include <string>
#include <string_view>

namespace fray::capi {

std::string_view current_trace();

// Whether FRAY_OTEL asks for traces.
bool traces_are_asked_for();

// Whether the text has the form of a traceparent that can be passed on: two hexadecimal digits of a known or later version, the
// ids, of which none is zero, and the flags.
bool is_traceparent(std::string_view text);
// Of a text that has it.
std::string_view trace_id_of(std::string_view traceparent);
bool is_sampled(std::string_view traceparent);

// Before a traced program leaves its node, whose folder this is: waits until its Python workers have exported what they have
// recorded, three seconds at most. See fray.backend.native.tracing, which has the locks that are waited for.
void wait_for_spans(const std::string& folder);

}  // namespace fray::capi
