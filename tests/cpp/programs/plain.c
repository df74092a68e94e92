/* The C interface from C: a task by name, its arguments and result as bytes. */
#include <fray.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int fail(void) {
  fprintf(stderr, "%s\n", fray_last_error()->message);
  return 1;
}

static void negate(fray_call* call, void* context) {
  fray_view view;
  (void)context;
  if (fray_call_count(call) != 1 || fray_call_argument(call, 0, &view) != FRAY_OK || view.encoding != FRAY_INT64) {
    fray_call_fail(call, "TypeError", "negate takes one int");
    return;
  }
  int64_t number;
  memcpy(&number, view.data, sizeof(number));
  number = -number;
  fray_value result = {FRAY_INT64, &number, sizeof(number), NULL, 0, NULL, 0};
  fray_call_return(call, &result);
  fray_pin_release(view.pin);
}

int main(void) {
  fray_require_abi(FRAY_ABI_VERSION, "plain");
  fray_register_task("negate", negate, NULL);
  fray_connect_options options = {.size = sizeof(options), .cpus = 1};
  fray_session* session;
  if (fray_connect(&options, &session) != FRAY_OK) return fail();
  fray_function* function;
  if (fray_function_make(session, FRAY_CPP, "negate", NULL, &function) != FRAY_OK) return fail();
  int64_t number = 42;
  fray_value argument = {FRAY_INT64, &number, sizeof(number), NULL, 0, NULL, 0};
  fray_object* object;
  if (fray_submit(session, function, &argument, 1, &object) != FRAY_OK) return fail();
  if (fray_wait(session, &object, 1, 1, 30) != FRAY_OK) return fail();
  fray_view view;
  if (fray_read(session, object, &view) != FRAY_OK) return fail();
  memcpy(&number, view.data, sizeof(number));
  printf("%" PRId64 "\n", number);
  fray_pin_release(view.pin);
  fray_object_release(session, object);
  fray_function_release(function);
  fray_close(session);
  fray_session_release(session);
  return 0;
}
