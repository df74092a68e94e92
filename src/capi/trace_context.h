// current_trace(): the trace context of the call that this thread runs, which is sent with the calls that it makes. It
// is a W3C traceparent, such as 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.
//
// In a task or an actor call it is the context of the call's span, or that of its caller if the call has no span
// (capi/spans.h). Anywhere else it is TRACEPARENT of the environment, if FRAY_OTEL is set.
//
// Threading:  any thread.
// Ownership:  returns a view of the running call's frame, or of a text that lives as long as the process.
// Failure:    empty if there is no trace context, and if TRACEPARENT does not have the form of one.
#pragma once

#include <string>
#include <string_view>

namespace fray::capi {

std::string_view current_trace();

// Whether FRAY_OTEL asks for traces.
bool traces_are_asked_for();

// Whether the text is a traceparent that can be passed on: two hexadecimal digits of a version, the ids, of which none
// is zero, and the flags.
bool is_traceparent(std::string_view text);
// Both require: is_traceparent(text).
std::string_view trace_id_of(std::string_view traceparent);
bool is_sampled(std::string_view traceparent);

// Waits until the Python workers of a traced program have exported what they have recorded, three seconds at most; the
// program calls this before it leaves its node. `folder`: of the session; it has the locks of
// fray.backend.native.tracing, which workers hold until then.
void wait_for_spans(const std::string& folder);

}  // namespace fray::capi
