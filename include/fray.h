/* fray.h: Fray for C, and for languages that can call C. The C++ API in fray/ is built on it.
 *
 *   fray_session* session;
 *   if (fray_connect(NULL, &session) != FRAY_OK) puts(fray_last_error()->message);
 *
 * A function that can fail returns a fray_code; fray_last_error() then has the text. Structures that begin with `size`
 * may grow at their end: the caller sets `size` to sizeof, and the library reads no more than that.
 *
 * Threading:  any thread may call any function, except fray_serve(), which must be called before threads are started.
 * Ownership:  the caller gets one count of everything that a function returns through `out`; each type has a _release
 *             function. Strings and bytes that are passed in are copied unless the text says otherwise.
 * Failure:    a fray_code; a function that fails leaves its `out` parameters unchanged.
 */
#ifndef FRAY_H
#define FRAY_H

#include <stddef.h>
#include <stdint.h>

/* Raised with every change of this interface that breaks compiled programs. */
#define FRAY_ABI_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

uint32_t fray_abi_version(void); /* that of the loaded library */
const char* fray_release(void);  /* such as "0.1.0" */

/* ---- Failures ---- */

enum fray_code {
  FRAY_OK = 0,
  FRAY_INVALID_ARGUMENT = 1, /* an argument is not allowed, or the task can never run */
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
  FRAY_RUNTIME_ENV = 19, /* the requested runtime environment cannot be built */
  FRAY_PERMISSION_DENIED = 20,
  FRAY_TASK_FAILED = 64, /* the task's own code failed; see type_name */
  FRAY_WRONG_TYPE = 65   /* the value has another type than the requested one */
};

typedef struct fray_error {
  int32_t code;
  const char* message;
  const char* type_name; /* FRAY_TASK_FAILED: the exception's type, such as "std::out_of_range" or "ValueError" */
  const char* traceback; /* of a Python exception; else "" */
} fray_error;

/* Returns the last failure of this thread. The texts are valid until the next call that fails. */
const fray_error* fray_last_error(void);
/* Makes this failure the last one of this thread, and returns its code. */
int fray_refuse(int32_t code, const char* message);

/* ---- Sessions ---- */

typedef struct fray_session fray_session;
typedef struct fray_object fray_object;     /* an object of a session; counted */
typedef struct fray_function fray_function; /* a function that can be submitted, with its options */

typedef struct fray_resource {
  const char* name;
  double amount;
} fray_resource;

typedef struct fray_connect_options {
  size_t size;
  const char* address;         /* "auto", a socket or a home; NULL: the node of this job, or else a node of its own */
  double cpus;                 /* 0: those of the container; this and the next five are for a node of its own */
  uint64_t memory_bytes;       /* 0: likewise */
  uint64_t store_memory_bytes; /* 0: the default */
  const char* spill_folder;    /* NULL: the default */
  uint32_t max_workers;        /* 0: the default */
  const fray_resource* resources;
  size_t resource_count;
  const char* name_space; /* that of named actors; NULL: that of the environment, or else "default" */
  const char* library;    /* a shared library that workers load; NULL: workers run this program's own binary */
  const char* python;     /* the interpreter of Python workers; NULL: that of the environment, else python3 in PATH */
} fray_connect_options;

/* In a worker, runs tasks and ends the process; in any other process, returns at once. fray_connect() begins with it,
 * so a program calls it only before work that precedes fray_connect() and that workers must not repeat. */
void fray_serve(void);

/* Connects this process, and makes the session the current one. FRAY_ALREADY_EXISTS while another session is open. */
int fray_connect(const fray_connect_options* options, fray_session** out);
/* Returns the session of this process, which is borrowed, or NULL. */
fray_session* fray_current_session(void);
/* Ends the session: tasks that have not finished fail, and the program's own node ends: its workers are
 * killed, and gone when this returns, which waits for them for at most 5 s. Views stay readable. */
void fray_close(fray_session* session);
void fray_session_retain(fray_session* session);
void fray_session_release(fray_session* session);
/* Returns the document that `fray status --json` prints. Release the text with fray_text_free(). */
int fray_status(fray_session* session, char** out);
void fray_text_free(char* text);
/* Returns the amount of a resource that the node has in total. */
double fray_total_resource(fray_session* session, const char* name);

/* ---- Values ---- */

enum fray_encoding {
  FRAY_REF = -1, /* the argument is the value of the object refs[0] */
  FRAY_NONE = 0,
  FRAY_TRUE = 1,
  FRAY_FALSE = 2,
  FRAY_INT64 = 3,   /* 8 bytes */
  FRAY_FLOAT64 = 4, /* 8 bytes */
  FRAY_UTF8 = 5,
  FRAY_BYTES = 6,
  FRAY_REFS = 12,    /* a list of refs */
  FRAY_PORTABLE = 14 /* MessagePack, with large arrays in `buffers`; see docs/formats/portable-values.md */
};

typedef struct fray_bytes {
  const void* data;
  size_t size;
} fray_bytes;

/* A value that a program passes to Fray, which copies its bytes into shared memory or into the message. */
typedef struct fray_value {
  int32_t encoding;
  const void* data;
  size_t size;
  const fray_bytes* buffers; /* arrays that are outside of `data` */
  size_t buffer_count;
  fray_object* const* refs; /* the refs inside the value, by their index */
  size_t ref_count;
} fray_value;

typedef struct fray_pin fray_pin; /* keeps the memory of a view; counted */

/* A value that a program reads. Without a pin its bytes live as long as its object, or as the call that has it as an
 * argument. */
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
/* Stores a value as an object. */
int fray_put(fray_session* session, const fray_value* value, fray_object** out);
/* Returns writable memory of the store. fray_room_put() makes an object of it without a copy, fray_room_leave() frees
 * it. */
int fray_room_make(fray_session* session, size_t bytes, void** out);
void fray_room_leave(fray_session* session, void* memory);
int fray_room_put(fray_session* session, const fray_value* value, fray_object** out);

/* Waits until `needed` of the objects are ready. A `timeout_seconds` below 0 stands for no limit. */
int fray_wait(fray_session* session, fray_object* const* objects, size_t count, size_t needed, double timeout_seconds);
/* Returns the value of a ready object, or fails as its task has failed. */
int fray_read(fray_session* session, fray_object* object, fray_view* out);
/* Cancels a task. *cancelled becomes 1 if the task had not ended. `force` kills the worker that runs it. */
int fray_cancel(fray_session* session, fray_object* object, int force, int* cancelled);

/* A queue returns objects in the order in which they become ready. */
typedef struct fray_queue fray_queue;
int fray_queue_make(fray_session* session, fray_queue** out);
void fray_queue_free(fray_queue* queue);
void fray_queue_add(fray_queue* queue, fray_object* object);
/* Waits for the next object that is ready; the count of its adder keeps it. FRAY_NOT_FOUND after the last object. */
int fray_queue_next(fray_queue* queue, double timeout_seconds, fray_object** out);

/* ---- Tasks ---- */

enum fray_language { FRAY_CPP = 0, FRAY_PYTHON = 1 };

typedef struct fray_variable {
  const char* name;
  const char* value;
} fray_variable;

typedef struct fray_task_options {
  size_t size;
  const char* label; /* NULL: the name of the function */
  double num_cpus;
  const fray_resource* resources;
  size_t resource_count;
  int32_t max_retries;              /* attempts after the first when a worker died; -1: no limit */
  double timeout_seconds;           /* the time of one attempt; 0: no limit */
  int32_t retry_exceptions;         /* whether max_retries also counts exceptions of the function; FRAY_CPP only */
  const fray_variable* environment; /* variables of the workers, besides those of this process */
  size_t environment_count;
  int32_t priority; /* from -1000 to 1000; tasks of higher priority are placed first */
} fray_task_options;

/* Makes a function from the name with which workers have registered it (FRAY_CPP), or from "module:function"
 * (FRAY_PYTHON). Without options a task has 1 CPU and 3 retries. */
int fray_function_make(fray_session* session, int32_t language, const char* name, const fray_task_options* options,
                       fray_function** out);
void fray_function_release(fray_function* function);
/* Submits a task, and returns the object of its result. */
int fray_submit(fray_session* session, fray_function* function, const fray_value* arguments, size_t count,
                fray_object** out);
/* Submits a task that returns `returns` values, from 1 to 1000, and returns an object for each in out[]. */
int fray_submit_several(fray_session* session, fray_function* function, const fray_value* arguments, size_t count,
                        fray_object** out, size_t returns);

/* ---- Actors ---- */

typedef struct fray_actor_options {
  size_t size;
  const char* name;       /* NULL: the actor has no name */
  const char* name_space; /* NULL: that of the session */
  int32_t get_if_exists;
  int32_t detached;
  double num_cpus;
  const fray_resource* resources;
  size_t resource_count;
  int32_t max_restarts; /* -1: no limit */
  int32_t max_task_retries;
  int32_t max_concurrency;   /* calls that run at the same time; 0: 1, or more for a Python class with async methods */
  int64_t max_pending_calls; /* calls of a process that have not ended; -1: no limit */
  int32_t priority;          /* from -1000 to 1000; actors of higher priority get a worker first */
} fray_actor_options;

typedef struct fray_actor fray_actor; /* a handle; counted */

/* Creates an actor of a class that workers have registered (FRAY_CPP), or of "module:Class" (FRAY_PYTHON). */
int fray_actor_create(fray_session* session, int32_t language, const char* name, const fray_actor_options* options,
                      const fray_value* arguments, size_t count, fray_actor** out);
/* Returns the living actor of that name, or FRAY_NOT_FOUND. */
int fray_actor_find(fray_session* session, const char* name_space, const char* name, fray_actor** out);
/* Makes a handle from the object and the description of an actor that a value contains. */
int fray_actor_adopt(fray_session* session, fray_object* object, const void* description, size_t size,
                     fray_actor** out);
/* Calls a method, and returns the object of its result. */
int fray_actor_call(fray_actor* actor, const char* method, const fray_value* arguments, size_t count,
                    fray_object** out);
/* Kills the actor's process. With `no_restart` the actor is not restarted, even where max_restarts permits it. */
int fray_actor_kill(fray_actor* actor, int no_restart);
fray_object* fray_actor_object(fray_actor* actor);    /* borrowed */
fray_bytes fray_actor_description(fray_actor* actor); /* borrowed */
const char* fray_actor_class(fray_actor* actor);      /* borrowed */
void fray_actor_retain(fray_actor* actor);
void fray_actor_release(fray_actor* actor);

/* ---- The worker's side ---- */

typedef struct fray_call fray_call; /* a call of a task or method that runs */

/* The body of a task. It reads the arguments and calls fray_call_return() or fray_call_fail(). It must not throw. */
typedef void (*fray_body)(fray_call* call, void* context);
/* The body of an actor's method. */
typedef void (*fray_method_body)(fray_call* call, void* self, void* context);
/* Returns the instance of an actor, or NULL after fray_call_fail(). */
typedef void* (*fray_constructor)(fray_call* call, void* context);

typedef struct fray_method {
  const char* name;
  fray_method_body body;
  void* context;
} fray_method;

/* Tasks and actors are registered before fray_serve() or fray_connect(), for example by constructors of static objects.
 * The strings are not copied. When two bodies have the same name, every call of that name fails.
 * fray_require_abi() takes FRAY_ABI_VERSION; with any other version every call fails. */
void fray_require_abi(uint32_t version, const char* who);
void fray_register_task(const char* name, fray_body body, void* context);
void fray_register_actor(const char* name, fray_constructor construct, void (*destroy)(void* self), void* context,
                         const fray_method* methods, size_t count);

/* Returns the name with which a task of this context was registered, or NULL. */
const char* fray_task_name(const void* context);

/* Returns the number of arguments. */
size_t fray_call_count(const fray_call* call);
/* Returns an argument. Its bytes live as long as the call; with a pin, as long as the pin. */
int fray_call_argument(fray_call* call, size_t index, fray_view* out);
/* Returns the number of values that the caller wants. fray_call_return() is called once for each, in order. */
size_t fray_call_returns(const fray_call* call);
int fray_call_return(fray_call* call, const fray_value* value);
void fray_call_fail(fray_call* call, const char* type_name, const char* message);
/* Returns whether the call of this thread was cancelled or has exceeded its timeout. Long calls should ask often. */
int fray_is_cancelled(void);
/* The main() of the program fray-cpp-worker. */
int fray_host(int argc, char** argv);

#ifdef __cplusplus
}
#endif

#endif /* FRAY_H */
