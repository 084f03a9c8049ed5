#pragma once
// The fixed rows of messages and of the file's tables. One list per row gives the struct, the HDF5
// compound and the documentation. Fields are only ever appended; meanings never change.
// String fields (type `text`) are indices into the file's string table; in a message they are 0 and
// the text travels as a field of its own (message.hpp).
#include <cstdint>

namespace numdiff {
inline namespace v1 {
namespace detail {

using text = std::uint32_t;

// clang-format off
#define NUMDIFF_DETAIL_OP_FIELDS(X)                                                            \
  X(std::uint64_t, seq)            /* program order within the rank, shared with captures; from 1 */ \
  X(std::int64_t, step)            /* iteration, -1 outside */                                 \
  X(std::int64_t, update)          /* optimizer updates applied so far, -1 unknown */          \
  X(std::int64_t, m)               /* rows of a product, -1 not told */                        \
  X(std::int64_t, n)               /* columns of a product */                                  \
  X(std::int64_t, k)               /* contraction length of a product */                       \
  X(std::int64_t, batch)           /* independent products */                                  \
  X(std::int64_t, reduction_length)/* addends per result, -1 not told */                       \
  X(std::int64_t, t_begin)         /* ns on `clock` */                                         \
  X(std::uint64_t, stream)         /* device stream handle, 0 host */                          \
  X(std::uint64_t, rng_seed)                                                                   \
  X(std::uint64_t, rng_offset)                                                                 \
  X(std::uint64_t, graph)          /* captured graph, 0 none */                                \
  X(double, flops)                 /* -1 not told */                                           \
  X(double, bytes)                 /* moved, unique storage; -1 not told */                    \
  X(std::int64_t, workspace)       /* bytes; -1 not told */                                    \
  X(text, name)                                                                                \
  X(text, kind)                    /* "matmul"; docs/numerics.md lists the kinds */            \
  X(text, scope)                   /* "decoder.layer.3.attn" */                                \
  X(text, tags)                    /* JSON object of context tags, "" none */                  \
  X(text, factors)                 /* JSON object of context factors, "" none */               \
  X(text, algorithm)               /* kernel or algorithm name */                              \
  X(text, rng)                     /* RNG algorithm */                                         \
  X(std::int32_t, micro_batch)     /* -1 none */                                               \
  X(std::int32_t, device)          /* -1 host */                                               \
  X(std::uint32_t, thread)         /* small number, 1 for the first thread seen */             \
  X(std::uint32_t, graph_node)                                                                 \
  X(std::uint32_t, graph_replay)                                                               \
  X(std::uint32_t, promotion)      /* products between promotions to a wider accumulator, 0 never */ \
  X(std::uint16_t, phase)          /* enum phase */                                            \
  X(std::uint16_t, clock)          /* enum clock_source */                                     \
  X(std::uint16_t, input_dtype)                                                                \
  X(std::uint16_t, input2_dtype)                                                               \
  X(std::uint16_t, accumulate_dtype)                                                           \
  X(std::uint16_t, output_dtype)                                                               \
  X(std::uint16_t, accumulate_bits)/* fraction bits kept when products are aligned, 0 as dtype */ \
  X(std::uint16_t, accumulate_rounding) /* enum rounding */                                    \
  X(std::uint16_t, output_rounding)     /* enum rounding */                                    \
  X(std::uint16_t, split)          /* parts of a split reduction, 0 or 1 none */               \
  X(std::uint16_t, partial_dtype)  /* dtype of the parts */                                    \
  X(std::uint16_t, order)          /* enum reduction_order */

#define NUMDIFF_DETAIL_CAPTURE_FIELDS(X)                                                       \
  X(std::uint64_t, seq)            /* program order within the rank, shared with ops */        \
  X(std::uint64_t, op)             /* seq of its op, 0 outside any op */                       \
  X(std::int64_t, count)           /* elements of the view, hidden ones included; complex: parts */ \
  X(std::int64_t, hidden)          /* the classes: hidden ... maximum_negative and the rest, */ \
  X(std::int64_t, nan)             /*   finite normal elements, add up to count */             \
  X(std::int64_t, positive_infinity)                                                           \
  X(std::int64_t, negative_infinity)                                                           \
  X(std::int64_t, zero)                                                                        \
  X(std::int64_t, negative_zero)                                                               \
  X(std::int64_t, subnormal)                                                                   \
  X(std::int64_t, maximum_positive)                                                            \
  X(std::int64_t, maximum_negative)                                                            \
  X(double, amax)                  /* over finite decoded values, also those left out of sums */ \
  X(double, smallest)              /* smallest nonzero magnitude, 0 none */                    \
  X(double, minimum)               /* NaN when nothing is finite */                            \
  X(double, maximum)                                                                           \
  X(double, sum)                   /* of decoded values * 2^-sum_exponent */                   \
  X(double, sum_abs)                                                                           \
  X(double, sum_sq)                /* of (value * 2^-sum_exponent)^2 */                        \
  X(double, sum_4)                                                                             \
  X(std::int64_t, first_nonfinite) /* row-major global index, -1 none */                       \
  X(std::uint64_t, digest0)                                                                    \
  X(std::uint64_t, digest1)                                                                    \
  X(std::uint64_t, scale_digest0)                                                              \
  X(std::uint64_t, scale_digest1)                                                              \
  X(std::uint64_t, zero_point_digest0)                                                         \
  X(std::uint64_t, zero_point_digest1)                                                         \
  X(double, pending_factor)        /* value = true value * factor; 1 none */                   \
  X(std::int64_t, sketch)          /* row of /sketches, -1 none */                             \
  X(std::int64_t, histogram)       /* byte offset into /histograms, -1 none */                 \
  X(std::int64_t, payload)         /* element offset into /payload/<dtype>, -1 not kept */     \
  X(std::int64_t, scale_payload)   /* element offset into /payload/<scale_dtype>, -1 not kept */ \
  X(std::int64_t, scale_count)                                                                 \
  X(std::int64_t, zero_point_payload)                                                          \
  X(std::int64_t, zero_point_count)                                                            \
  X(std::int64_t, index_payload)   /* i64 global ids of a placement by ids, -1 none */         \
  X(std::int64_t, index_count)                                                                 \
  X(std::uint64_t, allocation)                                                                 \
  X(std::int64_t, allocation_offset)                                                           \
  X(std::int64_t, allocation_extent)                                                           \
  X(std::uint64_t, allocation_version)                                                         \
  X(std::int64_t, time)            /* ns on the session's clock */                             \
  X(text, name)                                                                                \
  X(text, placement)               /* JSON, "" rank-local */                                   \
  X(text, scaling)                 /* JSON, "" none */                                         \
  X(text, axes)                    /* "b s h d", "" none */                                    \
  X(std::uint32_t, shape)          /* row of /shapes */                                        \
  X(std::uint32_t, thread)                                                                     \
  X(std::uint32_t, histogram_bytes)                                                            \
  X(std::int32_t, sum_exponent)                                                                \
  X(std::uint16_t, role)           /* enum role */                                             \
  X(std::uint16_t, usage)          /* enum usage */                                            \
  X(std::uint16_t, dtype)                                                                      \
  X(std::uint16_t, scale_dtype)                                                                \
  X(std::uint16_t, zero_point_dtype)                                                           \
  X(std::uint16_t, memory)         /* enum memory_space */                                     \
  X(std::uint16_t, level)          /* enum level that was asked for */                         \
  X(std::uint16_t, dropped)        /* bits of enum dropped: what did not fit */

#define NUMDIFF_DETAIL_CAST_FIELDS(X)  /* counted before the cast, on decoded source * encode scale */ \
  X(std::uint64_t, capture)        /* seq of the capture (the destination) */                  \
  X(std::int64_t, count)                                                                       \
  X(std::int64_t, beyond_maximum)  /* |y| > largest finite */                                  \
  X(std::int64_t, overflowing)     /* would round past the largest finite */                   \
  X(std::int64_t, flushed)         /* nonzero became zero */                                   \
  X(std::int64_t, subnormal)       /* in the destination */                                    \
  X(std::int64_t, nan)             /* of the source */                                         \
  X(std::int64_t, infinite)        /* of the source */                                         \
  X(double, amax)                  /* of the finite source values, before scaling */           \
  X(double, sum_sq)                /* of the finite source values */                           \
  X(double, clip_sq)               /* squared error in source units, by what caused it */      \
  X(double, rounding_sq)                                                                       \
  X(double, underflow_sq)                                                                      \
  X(double, signed_error)          /* sum of (decoded result - source) * sign(source) */       \
  X(std::uint16_t, source_dtype)

#define NUMDIFF_DETAIL_SCALES_FIELDS(X)  /* statistics of the decode scales of a capture */    \
  X(std::uint64_t, capture)                                                                    \
  X(std::int64_t, count)                                                                       \
  X(std::int64_t, zero)                                                                        \
  X(std::int64_t, nan)                                                                         \
  X(std::int64_t, infinite)                                                                    \
  X(double, minimum)                                                                           \
  X(double, maximum)                                                                           \
  X(std::int64_t, histogram)       /* of |x| / block amax, byte offset into /histograms, -1 none */ \
  X(std::uint32_t, histogram_bytes)

#define NUMDIFF_DETAIL_COLLECTIVE_FIELDS(X)                                                    \
  X(std::uint64_t, op)             /* seq of its op */                                         \
  X(std::uint64_t, sequence)       /* number within the communicator */                        \
  X(std::int64_t, count)           /* elements this rank contributes */                        \
  X(text, communicator)                                                                        \
  X(text, ranks)                   /* JSON list of world ranks in group order, "" all */       \
  X(text, algorithm)               /* "ring", "tree", "" not told */                           \
  X(text, protocol)                                                                            \
  X(std::int32_t, peer)            /* root or peer, -1 none */                                 \
  X(std::uint32_t, size)           /* ranks in the group */                                    \
  X(std::uint16_t, operation)      /* enum collective_operation */                             \
  X(std::uint16_t, reduction)      /* enum reduction */                                        \
  X(std::uint16_t, wire_dtype)

#define NUMDIFF_DETAIL_EVENT_FIELDS(X)                                                         \
  X(std::uint64_t, seq)                                                                        \
  X(std::int64_t, time)                                                                        \
  X(std::uint64_t, id0)            /* op_ended: seq of the op; allocation, free: allocation id */ \
  X(std::uint64_t, id1)            /* allocation: bytes */                                     \
  X(std::int64_t, step)                                                                        \
  X(text, name)                                                                                \
  X(std::uint16_t, kind)           /* enum event_kind */

#define NUMDIFF_DETAIL_MANIFEST_FIELDS(X)                                                      \
  X(std::int64_t, time)                                                                        \
  X(text, key)                                                                                 \
  X(text, value)                                                                               \
  X(std::uint16_t, klass)          /* enum manifest_class */

#define NUMDIFF_DETAIL_EXTRA_FIELDS(X)                                                         \
  X(std::uint64_t, owner)          /* seq of the op or capture, 0 the run */                   \
  X(std::int64_t, offset)          /* bytes into /extra_heap */                                \
  X(std::int64_t, bytes)                                                                       \
  X(text, key)                                                                                 \
  X(std::uint16_t, dtype)          /* of the bytes; u8 for text */
// clang-format on

#define NUMDIFF_DETAIL_MEMBER(type, name) type name;
#define NUMDIFF_DETAIL_ROW(row, FIELDS) \
  struct row {                          \
    FIELDS(NUMDIFF_DETAIL_MEMBER)       \
  }
NUMDIFF_DETAIL_ROW(op_row, NUMDIFF_DETAIL_OP_FIELDS);
NUMDIFF_DETAIL_ROW(capture_row, NUMDIFF_DETAIL_CAPTURE_FIELDS);
NUMDIFF_DETAIL_ROW(cast_row, NUMDIFF_DETAIL_CAST_FIELDS);
NUMDIFF_DETAIL_ROW(scales_row, NUMDIFF_DETAIL_SCALES_FIELDS);
NUMDIFF_DETAIL_ROW(collective_row, NUMDIFF_DETAIL_COLLECTIVE_FIELDS);
NUMDIFF_DETAIL_ROW(event_row, NUMDIFF_DETAIL_EVENT_FIELDS);
NUMDIFF_DETAIL_ROW(manifest_row, NUMDIFF_DETAIL_MANIFEST_FIELDS);
NUMDIFF_DETAIL_ROW(extra_row, NUMDIFF_DETAIL_EXTRA_FIELDS);

// One row of /shapes: extents and strides in elements of a view; unused entries are 0.
struct shape_row {
  std::int64_t extent[8];
  std::int64_t stride[8];
  std::uint32_t rank;
};

inline constexpr int sketch_buckets = 256;

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
