#include <doctest/doctest.h>
#include <complex>
#include <numdiff/numdiff.hpp>
#include <numdiff/session.hpp>
#include <vector>
TEST_CASE("the public API") {
  using namespace numdiff::dtypes_short;
  numdiff::session_options o;
  o.file = "run_a.h5";
  o.level = numdiff::level::tensors;
  o.select = "decoder.layer.*";
  o.steps = "0:10";
  o.budget = 1000;
  o.run_id = "...";
  o.world_size = 2;
  o.rank = 0;
  o.wait_ms = 0;
  o.queue_bytes = 64 << 20;
  numdiff::session s(o);
  s.mesh("tp", 2, 0);
  s.manifest("key", "value", numdiff::manifest_class::numeric);
  s.set_update(3);
  s.flush();
  std::size_t M = 2, N = 3;
  int K = 4;
  std::vector<float> q(100);
  std::vector<std::complex<float>> cc(4);
  NUMDIFF_STEP(3);
  NUMDIFF_MICRO_BATCH(0);
  NUMDIFF_PHASE(backward);
  NUMDIFF_SCOPE("decoder.layer.3");
  NUMDIFF_TAG("request", 17);
  NUMDIFF_FACTOR("loss_scale", 2.0F);
  auto c = numdiff::current_context();
  NUMDIFF_CONTEXT(c);
  NUMDIFF_OP(op, "attn.scores", matmul, numdiff::dtypes(bf16, f32, bf16).mnk(M, N, K).batch(1));
  numdiff::scaling e = numdiff::scale_block(1, 128, q.data()).encode();
  NUMDIFF_INPUT(op, "q",
                numdiff::view(q.data(), {M, K})
                    .transposed()
                    .shard("tp", 0)
                    .scaled(e)
                    .box(0, 1, 3)
                    .flat({{1, 2, 3}, {1, 2, 3}}));
  NUMDIFF_INPUT(op, "q", numdiff::view(cc.data(), {4}));
  std::vector<numdiff::bf16_t> b16(4);
  NUMDIFF_INPUT(op, "q", numdiff::view(b16.data(), {4}));
  NUMDIFF_INPUT(op, "q", numdiff::view(cc.data(), {}).on(nullptr));
  NUMDIFF_SCALAR(op, "eps", 1e-5);
  numdiff::cast_counter counter(numdiff::dtype::f16);
  counter.before_cast(3);
  NUMDIFF_COUNTS(op, "c", counter);
  auto v = numdiff::view(q.data(), {M, N});
  NUMDIFF_CAST(op, "x", v, v);
  NUMDIFF_COLLECTIVE(op,
                     numdiff::collective(numdiff::collective_operation::all_reduce, numdiff::reduction::sum)
                         .communicator("tp")
                         .sequence(1)
                         .size(2)
                         .ranks({0, 1})
                         .count(3)
                         .wire(bf16)
                         .algorithm("ring"));
  NUMDIFF_TENSOR("name", v);
  NUMDIFF_SKIP_STEP();
  NUMDIFF_OP(op2, "attn.scores", matmul, numdiff::dtypes(v, f32, v));
  NUMDIFF_OP(op3, "attn.scores", matmul, numdiff::dtypes(e4m3, e4m3, numdiff::truncating(22), v));
}
