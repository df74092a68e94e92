// Values between the C API and the engine: fray_value in, fray_view out.
//
// Threading:  any thread.
// Ownership:  a fray_value is copied; a fray_view borrows, and its pin keeps what it borrows.
// Failure:    a value of a Python type that has no portable form is FRAY_WRONG_TYPE; a failed object is its failure.
#pragma once

#include <fray.h>

#include "capi/session.h"

struct fray_call;

namespace fray::capi {

// Values up to this size travel inside frames.
inline constexpr std::size_t kInlineBytes = 8 * 1024;

inline bool is_large(const fray_value& value) { return value.buffer_count > 0 || value.size > kInlineBytes; }
Result<wire::Encoding> encoding_of(const fray_value& value);
// A large value, in shared memory. One count.
Result<client::Object*> store(fray_session& session, const fray_value& value);
// New counts on the refs inside.
std::vector<client::Object*> retained_refs(const fray_value& value);

// Both fill `out` and return FRAY_OK, or remember why they do not.
int read_object(fray_session& session, client::Object* object, fray_view* out);
int read_value(fray_session& session, const wire::ValueView& value, fray_view* out);

// The call's answer, encoded; what others have to hold is recorded at the node first.
Status write_result(fray_call& call, const fray_value& value);

}  // namespace fray::capi
