/* fray.h: Fray for C, and for languages that can call C. The C++ API in fray/ stands on it.
 *
 *   fray_session* session;
 *   if (fray_connect(NULL, &session) != FRAY_OK) puts(fray_last_error()->message);
 *
 * A function that can fail returns a fray_code; fray_last_error() then has the text. Structures that begin with `size`
 * may grow at their end: the caller sets `size` to sizeof, and the library reads no more than that.
 *
 * Threading:  every function may be called from any thread, except fray_serve(): that one before any thread was started.
 * Ownership:  what a function returns through `out` is counted once for the caller; each kind has a _release function.
 *             Strings and bytes that are passed in are copied unless the text says otherwise.
 * Failure:    codes below; a failed function leaves its `out` parameters as they were.
 */
#ifndef FRAY_H
#define FRAY_H

#include <stddef.h>
#include <stdint.h>

/* Raised whenever something here changes in a way that compiled programs would notice. */
#define FRAY_ABI_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

uint32_t fray_abi_version(void); /* of the library that is loaded */
const char* fray_release(void);  /* such as "0.1.0" */

/* ---- Failures ---- */

enum fray_code {
  FRAY_OK = 0,
  FRAY_INVALID_ARGUMENT = 1, /* what was asked is not allowed, or can never run */
  FRAY_NOT_FOUND = 2,
  FRAY_ALREADY_EXISTS = 3,
  FRAY_RESOURCE_EXHAUSTED = 4,
  FRAY_STORE_FULL = 5,
  FRAY_TIMED_OUT = 6,
  FRAY_CANCELLED = 7,
  FRAY_UNAVAILABLE = 8, /* the node is gone, or the session was closed, or belongs to the parent of a fork */
  FRAY_WORKER_DIED = 9,
  FRAY_OWNER_DIED = 10,
  FRAY_OBJECT_LOST = 11,
  FRAY_DEADLOCK = 12,
  FRAY_IO_ERROR = 13,
  FRAY_CORRUPTION = 14,
  FRAY_INTERNAL = 15,
  FRAY_VERSION_MISMATCH = 16,
  FRAY_WORKER_OUT_OF_MEMORY = 17,
  FRAY_ACTOR_DIED = 18,
  FRAY_RUNTIME_ENV = 19, /* the environment that was asked for cannot be made */
  FRAY_PERMISSION_DENIED = 20,
  FRAY_TASK_FAILED = 64, /* the task's own code failed; see type_name */
  FRAY_WRONG_TYPE = 65   /* the value is of another type than the one asked for */
};

typedef struct fray_error {
  int32_t code;
  const char* message;
  const char* type_name; /* FRAY_TASK_FAILED: the exception's type, such as "std::out_of_range" or "ValueError" */
  const char* traceback; /* of a Python exception; else "" */
} fray_error;

/* What failed last in this thread; valid until the next call that fails. */
const fray_error* fray_last_error(void);
/* Makes this the last failure, and returns the code. */
int fray_refuse(int32_t code, const char* message);

/* ---- Sessions ---- */

typedef struct fray_session fray_session;
typedef struct fray_object fray_object;     /* an object of a session; counted */
typedef struct fray_function fray_function; /* what can be submitted, with its options */

typedef struct fray_resource {
  const char* name;
  double amount;
} fray_resource;

typedef struct fray_connect_options {
  size_t size;
  const char* address;   /* NULL: that of this process's job, else one of its own; else "auto", a socket or a home */
  double cpus;           /* 0: what the container gives; this and the next five are for a node of its own */
  uint64_t memory_bytes; /* 0: likewise */
  uint64_t store_memory_bytes; /* 0: the default */
  const char* spill_folder;    /* NULL: the default */
  uint32_t max_workers;        /* 0: the default */
  const fray_resource* resources;
  size_t resource_count;
  const char* name_space; /* of named actors; NULL: that of the environment, else "default" */
  const char* library;    /* a shared library that workers load; NULL: workers run this program's own binary */
  const char* python;     /* the interpreter of Python workers; NULL: that of the environment, else python3 in PATH */
} fray_connect_options;

/* In a process that was started as a worker: runs tasks and exits. Elsewhere it returns at once. fray_connect() calls it
 * first, so a program needs it only when it does something before that workers must not do. */
void fray_serve(void);

/* Connects this process, and makes the session its current one. FRAY_ALREADY_EXISTS while another one is open. */
int fray_connect(const fray_connect_options* options, fray_session** out);
/* The session of this process, or NULL. Borrowed. */
fray_session* fray_current_session(void);
/* Unfinished tasks fail; a node of its own ends. Views stay readable. */
void fray_close(fray_session* session);
void fray_session_retain(fray_session* session);
void fray_session_release(fray_session* session);
/* The node's resources and the session's folder, as JSON; see `fray status --json`. Release with fray_text_free(). */
int fray_status(fray_session* session, char** out);
void fray_text_free(char* text);
double fray_total_resource(fray_session* session, const char* name);

/* ---- Values ---- */

enum fray_encoding {
  FRAY_REF = -1, /* an argument that is the value of an object: refs[0] */
  FRAY_NONE = 0,
  FRAY_TRUE = 1,
  FRAY_FALSE = 2,
  FRAY_INT64 = 3,   /* 8 bytes */
  FRAY_FLOAT64 = 4, /* 8 bytes */
  FRAY_UTF8 = 5,
  FRAY_BYTES = 6,
  FRAY_REFS = 12,    /* a list of refs */
  FRAY_PORTABLE = 14 /* MessagePack, with large arrays outside of it; see docs/formats/portable-values.md */
};

typedef struct fray_bytes {
  const void* data;
  size_t size;
} fray_bytes;

/* A value on its way in. Nothing is kept: large bytes are copied into shared memory, small ones into the message. */
typedef struct fray_value {
  int32_t encoding;
  const void* data;
  size_t size;
  const fray_bytes* buffers; /* arrays that lie outside of `data` */
  size_t buffer_count;
  fray_object* const* refs; /* refs inside, in the order of their places */
  size_t ref_count;
} fray_value;

typedef struct fray_pin fray_pin; /* keeps the memory of a view; counted */

/* A value that can be read. Without a pin the bytes live as long as the object, or as the call whose argument it is. */
typedef struct fray_view {
  int32_t encoding;
  const void* data;
  size_t size;
  const fray_bytes* buffers;
  size_t buffer_count;
  fray_object* const* refs; /* borrowed from the pin */
  size_t ref_count;
  fray_pin* pin; /* counted once for the caller; may be NULL */
} fray_view;

void fray_pin_retain(fray_pin* pin);
void fray_pin_release(fray_pin* pin); /* NULL is allowed */

/* ---- Objects ---- */

void fray_object_retain(fray_session* session, fray_object* object);
void fray_object_release(fray_session* session, fray_object* object);
int fray_object_is_ready(const fray_object* object);
int fray_put(fray_session* session, const fray_value* value, fray_object** out);
/* Writable memory in the store; fray_room_put() makes an array of it without a copy. */
int fray_room_make(fray_session* session, size_t bytes, void** out);
void fray_room_leave(fray_session* session, void* memory);
int fray_room_put(fray_session* session, const fray_value* value, fray_object** out);

/* Waits until `needed` of the objects are ready. `timeout_seconds` < 0: as long as it takes. */
int fray_wait(fray_session* session, fray_object* const* objects, size_t count, size_t needed, double timeout_seconds);
/* The value of a ready object. The task's failure is this function's failure. */
int fray_read(fray_session* session, fray_object* object, fray_view* out);
/* *cancelled: whether the task had not ended. `force` kills the worker that runs it. */
int fray_cancel(fray_session* session, fray_object* object, int force, int* cancelled);

/* Objects in the order in which they become ready. */
typedef struct fray_queue fray_queue;
int fray_queue_make(fray_session* session, fray_queue** out);
void fray_queue_free(fray_queue* queue);
void fray_queue_add(fray_queue* queue, fray_object* object);
/* The next object that is ready, borrowed from whoever added it. FRAY_NOT_FOUND: none was added that was not given. */
int fray_queue_next(fray_queue* queue, double timeout_seconds, fray_object** out);

/* ---- Tasks ---- */

enum fray_language { FRAY_CPP = 0, FRAY_PYTHON = 1 };

typedef struct fray_variable {
  const char* name;
  const char* value;
} fray_variable;

typedef struct fray_task_options {
  size_t size;
  const char* label; /* NULL: the function's name */
  double num_cpus;
  const fray_resource* resources;
  size_t resource_count;
  int32_t max_retries;              /* of a task whose worker died; -1: no limit */
  double timeout_seconds;           /* 0: none */
  int32_t retry_exceptions;         /* whether max_retries counts failures of the task's own code too; FRAY_CPP only */
  const fray_variable* environment; /* of the workers, beside or in place of this process's variables */
  size_t environment_count;
  int32_t priority; /* from -1000 to 1000; higher ones are placed first */
} fray_task_options;

/* FRAY_CPP: a name that workers have registered. FRAY_PYTHON: "module:function". NULL options: 1 CPU, 3 retries. */
int fray_function_make(fray_session* session, int32_t language, const char* name, const fray_task_options* options,
                       fray_function** out);
void fray_function_release(fray_function* function);
int fray_submit(fray_session* session, fray_function* function, const fray_value* arguments, size_t count,
                fray_object** out);
/* The same of a function that gives `returns` values, 1 to 1000: one object each in out[]. */
int fray_submit_several(fray_session* session, fray_function* function, const fray_value* arguments, size_t count,
                        fray_object** out, size_t returns);

/* ---- Actors ---- */

typedef struct fray_actor_options {
  size_t size;
  const char* name;       /* NULL: none */
  const char* name_space; /* NULL: the session's */
  int32_t get_if_exists;
  int32_t detached;
  double num_cpus;
  const fray_resource* resources;
  size_t resource_count;
  int32_t max_restarts; /* -1: no limit */
  int32_t max_task_retries;
  int32_t max_concurrency;   /* calls that run side by side; 0: one */
  int64_t max_pending_calls; /* -1: no limit */
  int32_t priority;          /* from -1000 to 1000; of actors that wait for a worker, higher ones get theirs first */
} fray_actor_options;

typedef struct fray_actor fray_actor; /* a handle; counted */

/* FRAY_CPP: a class that workers have registered. FRAY_PYTHON: "module:Class". */
int fray_actor_create(fray_session* session, int32_t language, const char* name, const fray_actor_options* options,
                      const fray_value* arguments, size_t count, fray_actor** out);
int fray_actor_find(fray_session* session, const char* name_space, const char* name, fray_actor** out);
/* A handle for the ref of an actor that came inside a value, with the description that came along. */
int fray_actor_adopt(fray_session* session, fray_object* object, const void* description, size_t size,
                     fray_actor** out);
int fray_actor_call(fray_actor* actor, const char* method, const fray_value* arguments, size_t count,
                    fray_object** out);
int fray_actor_kill(fray_actor* actor, int no_restart);
fray_object* fray_actor_object(fray_actor* actor);    /* borrowed */
fray_bytes fray_actor_description(fray_actor* actor); /* borrowed */
const char* fray_actor_class(fray_actor* actor);      /* borrowed */
void fray_actor_retain(fray_actor* actor);
void fray_actor_release(fray_actor* actor);

/* ---- The worker's side ---- */

typedef struct fray_call fray_call; /* one call that runs */

/* Reads its arguments, does its work, and answers by fray_call_return() or fray_call_fail(). Must not throw. */
typedef void (*fray_body)(fray_call* call, void* context);
/* The same of an actor's method. */
typedef void (*fray_method_body)(fray_call* call, void* self, void* context);
/* The instance; NULL after fray_call_fail(). */
typedef void* (*fray_constructor)(fray_call* call, void* context);

typedef struct fray_method {
  const char* name;
  fray_method_body body;
  void* context;
} fray_method;

/* Before fray_serve() or fray_connect(), from constructors of static objects, say. The strings are kept, not copied. A name
 * that is taken by another body is remembered, and whoever calls it is told. */
void fray_require_abi(uint32_t version, const char* who); /* FRAY_ABI_VERSION; another one fails every call */
void fray_register_task(const char* name, fray_body body, void* context);
void fray_register_actor(const char* name, fray_constructor construct, void (*destroy)(void* self), void* context,
                         const fray_method* methods, size_t count);

/* The name under which a task was registered with this context; NULL for none. */
const char* fray_task_name(const void* context);

size_t fray_call_count(const fray_call* call);
/* One argument. Its bytes live as long as the call; what the view's pin keeps, as long as that. */
int fray_call_argument(fray_call* call, size_t index, fray_view* out);
/* How many values the caller wants; fray_call_return() is called once for each, in order. */
size_t fray_call_returns(const fray_call* call);
int fray_call_return(fray_call* call, const fray_value* value);
void fray_call_fail(fray_call* call, const char* type_name, const char* message);
/* Whether the call of this thread was cancelled, or is past its timeout: a long one should look now and then. */
int fray_is_cancelled(void);
/* main() of the program fray-cpp-worker. */
int fray_host(int argc, char** argv);

#ifdef __cplusplus
}
#endif

#endif /* FRAY_H */
