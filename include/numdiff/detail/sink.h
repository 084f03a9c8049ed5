#pragma once
/* What the runtime asks of a sink: a shared object that exports `numdiff_sink_v1`. All calls come
 * from one thread, the writer's, except `forked`. No function may throw, abort or print. */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Flag: values of tensors are asked for, so payload comes in large pieces. */
#define NUMDIFF_SINK_TENSORS 1U

struct numdiff_sink_open_v1 {
  uint32_t struct_size;
  const char* path; /* final name of the file this rank writes */
  const char* run_id;
  int32_t world_size;
  int32_t rank;
  int32_t restart;
  uint32_t flags;         /* NUMDIFF_SINK_ */
  const char* index_path; /* the run's name as the user gave it; equals path for one rank */
};

struct numdiff_sink_v1 {
  uint32_t struct_size;
  /* Null on failure, with one sentence in `error`. */
  void* (*open)(const struct numdiff_sink_open_v1*, char* error, size_t error_bytes);
  /* Whole messages (numdiff/detail/message.hpp), contiguous, in order of id; fillers left out. 0: taken. */
  int (*write)(void* sink, const void* messages, size_t bytes);
  /* Makes everything written so far durable, up to message last_id. 0: done. */
  int (*commit)(void* sink, uint64_t last_id);
  /* proper: the run ended; 0: the file is left as after a crash. Frees the sink. 0: done. */
  int (*close)(void* sink, int proper);
  const char* (*last_error)(void* sink);
  /* Optional. In the child of a fork: close descriptors with close(2), touch nothing else. */
  void (*forked)(void* sink);
};

#ifdef __cplusplus
}
#endif
