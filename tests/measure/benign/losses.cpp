#include "measure/benign/losses.hpp"

namespace benign {

void record_loss(program& p, const std::string& name, const tensor& logits, const tensor& targets) {
  const double loss = in_inner(p, [&]<class A>() { return cross_entropy<A>(p, logits, targets); });
  const std::int64_t rows = logits.extents[0];
  recorded(name, "cross_entropy", p.formats(p.inner).reduction(rows))
      .in("logits", logits)
      .in("targets", targets)
      .scalar("count", static_cast<double>(rows))
      .out("loss", p.result({}, {loss}, p.inner));
}

}  // namespace benign
