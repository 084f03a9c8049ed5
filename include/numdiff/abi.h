#pragma once
/* The boundary between instrumented code and the runtime: C, versioned, only ever extended.
 *
 * Every struct begins with its size as the caller knows it. A newer runtime takes fields that an
 * older caller lacks as zero, so an appended field must mean "not told" when it is zero. Texts are
 * NUL-terminated, may be null (meaning ""), and are copied before the call returns. No function
 * throws, aborts, prints, or waits longer than the session's wait_ms (open, flush and close may). */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define NUMDIFF_DETAIL_NOEXCEPT noexcept
extern "C" {
#else
#define NUMDIFF_DETAIL_NOEXCEPT
#endif
#define NUMDIFF_DETAIL_API __attribute__((visibility("default")))

enum { numdiff_max_rank = 8, numdiff_max_axes = 8, numdiff_max_segments = 8 };

/* Bits of numdiff_view_v1.flags. */
enum {
  numdiff_view_packed = 1,          /* 4-bit codes, two to a byte, low nibble first */
  numdiff_view_carries_factors = 2, /* multiplied by the factors of the context */
  numdiff_view_has_hidden = 4,      /* elements equal to `hidden_value` are hidden */
  numdiff_view_invalid = 8,         /* could not be described; counted as refused */
  numdiff_view_has_version = 16,    /* allocation fields are told */
  numdiff_view_ranges = 32          /* segments are stretches along ids_dimension, in indices */
};

struct numdiff_scaling_v1 {
  const void* scales;      /* one code a block, row-major over blocks */
  const void* zero_points; /* as scales, or null */
  double global;           /* second-level scale of nvfp4; 1 otherwise */
  const char* transform;   /* "hadamard16", null none */
  int32_t block[2];        /* of granularity block */
  int32_t axis;            /* dimension along which mx and nvfp4 blocks run; -1 last */
  uint16_t granularity;    /* enum granularity, 0 none */
  uint16_t direction;      /* enum scale_direction */
  uint16_t scale_dtype;
  uint16_t zero_point_dtype;
  uint16_t rounding; /* of the scale, enum rounding */
  uint16_t layout;   /* enum scale_layout */
  uint16_t memory;   /* enum memory_space of scales and zero points */
  uint16_t turned;   /* 1: blocks lie as if the last two dimensions of the view were swapped */
};

struct numdiff_axis_v1 {
  const char* axis; /* of the session's mesh */
  int32_t dimension;
  uint16_t spread; /* enum spread */
  uint16_t reserved;
};

struct numdiff_segment_v1 {
  int64_t global_begin, local_begin, length; /* in elements, row-major */
};

struct numdiff_view_v1 {
  uint32_t struct_size;
  uint16_t dtype;
  uint16_t memory; /* enum memory_space */
  const void* data;
  void* stream;
  int64_t extent[numdiff_max_rank];
  int64_t stride[numdiff_max_rank]; /* in elements */
  uint32_t rank;
  uint32_t flags;
  const char* axes; /* "b s h d" */
  uint16_t usage;   /* enum usage */
  uint16_t axis_count;
  uint32_t segment_count;
  const unsigned char* visible;   /* one byte an element, row-major; 0 hides */
  const int64_t* visible_lengths; /* one an index of dimension 0: hides at and behind it in dimension 1 */
  double hidden_value;
  uint64_t allocation;
  int64_t allocation_offset, allocation_extent;
  uint64_t allocation_version;
  struct numdiff_scaling_v1 scaling;
  struct numdiff_axis_v1 mesh[numdiff_max_axes];
  int64_t box_begin[numdiff_max_rank];
  int64_t global_extent[numdiff_max_rank]; /* 0: not told for this dimension */
  struct numdiff_segment_v1 segments[numdiff_max_segments];
  const struct numdiff_segment_v1* more_segments; /* used instead of `segments` when set */
  const int64_t* ids;                             /* global ids along ids_dimension, or null */
  int64_t ids_count;
  int32_t ids_dimension;
  uint32_t flat_rank; /* rank of global_extent for a flat placement, 0 as the view */
};

struct numdiff_op_v1 {
  uint32_t struct_size;
  int32_t device; /* -1 host */
  const char* name;
  const char* kind;
  const char* algorithm;
  const char* rng;
  int64_t m, n, k, batch, reduction_length, workspace; /* -1 not told */
  uint64_t stream, rng_seed, rng_offset, graph;
  double flops, bytes; /* -1 not told */
  uint32_t graph_node, graph_replay, promotion;
  uint16_t input_dtype, input2_dtype, accumulate_dtype, output_dtype;
  uint16_t accumulate_bits, accumulate_rounding, output_rounding, split, partial_dtype, order;
};

struct numdiff_capture_v1 {
  uint32_t struct_size;
  uint16_t role; /* enum role */
  uint16_t reserved;
  const char* name;
  const struct numdiff_view_v1* view;
  const struct numdiff_view_v1* source; /* of a cast, or null */
};

/* Counts before a cast, of values that never reach memory; meanings as cast_row. */
struct numdiff_counts_v1 {
  uint32_t struct_size;
  uint16_t dtype; /* of the destination */
  uint16_t source_dtype;
  int64_t count, beyond_maximum, overflowing, flushed, subnormal, nan, infinite;
  double amax, sum_sq, clip_sq, rounding_sq, underflow_sq, signed_error;
};

struct numdiff_collective_v1 {
  uint32_t struct_size;
  uint16_t operation; /* enum collective_operation */
  uint16_t reduction; /* enum reduction */
  const char* communicator;
  const char* algorithm;
  const char* protocol;
  const int32_t* ranks; /* world ranks in group order, or null for all */
  uint64_t sequence;
  int64_t count; /* elements this rank contributes, -1 not told */
  uint32_t rank_count;
  uint32_t size;
  int32_t peer; /* root or peer, -1 none */
  uint16_t wire_dtype;
  uint16_t reserved;
};

enum {
  numdiff_context_step = 1,
  numdiff_context_micro_batch = 2,
  numdiff_context_phase = 3,
  numdiff_context_scope = 4,
  numdiff_context_tag = 5,
  numdiff_context_factor = 6
};

struct numdiff_context_v1 {
  uint32_t struct_size;
  uint32_t kind;    /* numdiff_context_* */
  int64_t integer;  /* step, micro-batch, phase; a tag's value when `text` is null */
  double number;    /* factor */
  const char* name; /* scope, tag, factor */
  const char* text; /* a tag's value */
};

struct numdiff_session_v1 {
  uint32_t struct_size;
  uint16_t level; /* enum level */
  uint16_t reserved;
  const char* file;
  const char* config; /* a configuration file */
  const char* select;
  const char* steps;
  const char* run_id;
  uint64_t budget;      /* bytes, 0 unlimited */
  uint64_t queue_bytes; /* 0 the default */
  int64_t wait_ms;
  int32_t world_size, rank; /* -1 from the launcher */
  int32_t restart;
  uint32_t reserved2;
};

struct numdiff_statistics_v1 {
  uint32_t struct_size;
  uint32_t active;
  uint64_t ops, captures, events, bytes; /* taken into the queue */
  uint64_t dropped_ops, dropped_captures, dropped_events;
  uint64_t dropped_values, dropped_sketches, dropped_histograms;
  uint64_t refused; /* probes whose view could not be described or read */
};

/* Counts that a kernel made under one name. */
struct numdiff_slot_v1 {
  char name[32];
  struct numdiff_counts_v1 counts;
};

/* How the runtime reads memory that is not the host's; registered by numdiff/cuda.hpp. */
struct numdiff_device_v1 {
  uint32_t struct_size;
  uint32_t memory; /* enum memory_space */
  /* Staging memory on the host. */
  void* (*allocate)(size_t bytes);
  void (*release)(void* memory, size_t bytes);
  /* Copies to the host in stream order; complete on return. Not 0: it cannot be done now (the stream
   * is being captured into a graph, or an error), and the probe is dropped and counted. */
  int (*fetch)(void* host, const void* device, size_t bytes, void* stream);
  /* Cleared counters for one op, in device memory; null: none. */
  void* (*slots_acquire)(void* stream);
  /* Reads and gives back the counters once the stream's work is done; returns how many were used. */
  int (*slots_collect)(void* slots, void* stream, struct numdiff_slot_v1* out, int room);
};

/* Not 0 while a session records or is about to be opened by the environment. Read it relaxed. */
extern NUMDIFF_DETAIL_API uint32_t numdiff_v1_active;

/* 0 when capture is off; the reason is then the last error. */
NUMDIFF_DETAIL_API uint64_t numdiff_v1_session_open(const struct numdiff_session_v1*) NUMDIFF_DETAIL_NOEXCEPT;
NUMDIFF_DETAIL_API void numdiff_v1_session_close(uint64_t session) NUMDIFF_DETAIL_NOEXCEPT;
/* Waits until everything captured before the call is committed to the file. Not 0: it is not. */
NUMDIFF_DETAIL_API int numdiff_v1_session_flush(uint64_t session) NUMDIFF_DETAIL_NOEXCEPT;
NUMDIFF_DETAIL_API void numdiff_v1_session_mesh(uint64_t session, const char* axis, int32_t size,
                                                int32_t coordinate) NUMDIFF_DETAIL_NOEXCEPT;
NUMDIFF_DETAIL_API void numdiff_v1_session_manifest(uint64_t session, const char* key, const char* value,
                                                    uint16_t manifest_class) NUMDIFF_DETAIL_NOEXCEPT;
NUMDIFF_DETAIL_API void numdiff_v1_session_update(uint64_t session, int64_t updates) NUMDIFF_DETAIL_NOEXCEPT;
NUMDIFF_DETAIL_API void numdiff_v1_statistics(struct numdiff_statistics_v1*) NUMDIFF_DETAIL_NOEXCEPT;
/* "" when there was none. Valid until the next call of this thread. */
NUMDIFF_DETAIL_API const char* numdiff_v1_last_error(void) NUMDIFF_DETAIL_NOEXCEPT;

/* Opens a context on this thread; pop ends it and everything opened inside it. 0: nothing was opened. */
NUMDIFF_DETAIL_API uint64_t numdiff_v1_context_push(const struct numdiff_context_v1*) NUMDIFF_DETAIL_NOEXCEPT;
NUMDIFF_DETAIL_API void numdiff_v1_context_pop(uint64_t token) NUMDIFF_DETAIL_NOEXCEPT;
/* The context of this thread, to be entered on any other. Each handle is released once. */
NUMDIFF_DETAIL_API uint64_t numdiff_v1_context_current(void) NUMDIFF_DETAIL_NOEXCEPT;
NUMDIFF_DETAIL_API uint64_t numdiff_v1_context_copy(uint64_t context) NUMDIFF_DETAIL_NOEXCEPT;
NUMDIFF_DETAIL_API void numdiff_v1_context_release(uint64_t context) NUMDIFF_DETAIL_NOEXCEPT;
NUMDIFF_DETAIL_API uint64_t numdiff_v1_context_enter(uint64_t context) NUMDIFF_DETAIL_NOEXCEPT;

/* 0 when nothing is to be recorded of this op; a handle is ended once, on any thread. */
NUMDIFF_DETAIL_API uint64_t numdiff_v1_op_begin(const struct numdiff_op_v1*) NUMDIFF_DETAIL_NOEXCEPT;
NUMDIFF_DETAIL_API void numdiff_v1_op_end(uint64_t op) NUMDIFF_DETAIL_NOEXCEPT;
NUMDIFF_DETAIL_API void numdiff_v1_capture(uint64_t op,
                                           const struct numdiff_capture_v1*) NUMDIFF_DETAIL_NOEXCEPT;
/* A capture outside any op; recorded under an op of kind "tensor" and the capture's name. */
NUMDIFF_DETAIL_API void numdiff_v1_tensor(const struct numdiff_capture_v1*) NUMDIFF_DETAIL_NOEXCEPT;
NUMDIFF_DETAIL_API void numdiff_v1_counts(uint64_t op, const char* name,
                                          const struct numdiff_counts_v1*) NUMDIFF_DETAIL_NOEXCEPT;
NUMDIFF_DETAIL_API void numdiff_v1_collective(uint64_t op,
                                              const struct numdiff_collective_v1*) NUMDIFF_DETAIL_NOEXCEPT;
NUMDIFF_DETAIL_API void numdiff_v1_event(uint16_t kind, const char* name, uint64_t id0,
                                         uint64_t id1) NUMDIFF_DETAIL_NOEXCEPT;
/* Counters for the kernels of an op, in device memory; null when there is no device. */
NUMDIFF_DETAIL_API void* numdiff_v1_device_slots(uint64_t op) NUMDIFF_DETAIL_NOEXCEPT;
NUMDIFF_DETAIL_API void numdiff_v1_register_device(const struct numdiff_device_v1*) NUMDIFF_DETAIL_NOEXCEPT;

#ifdef __cplusplus
}
#endif
