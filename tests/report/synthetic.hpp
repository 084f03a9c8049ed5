#pragma once
// Comparisons made by hand: one that differs in every section, one that agrees, one that is incomplete.
#include "analysis/comparison.hpp"

namespace numdiff::test {

inline analysis::place place_of(std::int64_t step, const char* scope, const char* op, const char* tensor) {
  analysis::place p;
  p.step = step;
  p.micro_batch = 0;
  p.phase = phase::forward;
  p.scope = scope;
  p.op = op;
  p.role = role::output;
  p.tensor = tensor;
  return p;
}

inline analysis::comparison agreeing() {
  analysis::comparison c;
  c.verdict = analysis::outcome::agree;
  c.complete = true;
  c.reference = {"run_a.h5", "a", 1, 1, 400, 1200, true};
  c.test = {"run_b.h5", "b", 2, 2, 402, 1204, true};
  c.totals.matched = 1200;
  c.totals.equal = 200;
  c.totals.within = 1000;
  c.totals.reference = {1200, 1200, 0, 0, 0, 0, 0};
  c.totals.test = {1204, 1200, 4, 0, 0, 0, 0};
  return c;
}

inline analysis::comparison differing() {
  analysis::comparison c = agreeing();
  c.verdict = analysis::outcome::differ;
  c.totals.within = 985;
  c.totals.beyond = 15;
  c.test.closed = false;

  analysis::finding first;
  first.where = place_of(3, "decoder.layer.2.mlp", "fc2", "y");
  first.where.ranks = {0, 1};
  first.rule = "ND104";
  first.symptom = "bias";
  first.cause = "narrow-accumulator";
  first.message = "cuts products before it adds them";
  first.evidence = {
      {"ratio", 12.3456789}, {"reference_value", 0.1234567890123}, {"ulp", 37}, {"bias_z", -118.25}};
  first.control = "repeat with an f32 accumulator";
  first.is_root = true;
  first.explains = {"ND201 mismatch open"};
  c.first_divergence = first;
  c.roots.push_back(first);
  c.findings.push_back(first);

  analysis::finding second = first;
  second.where = place_of(4, "head", "logits", "y");
  second.cause = "open";
  second.symptom = "mismatch";
  second.message = "";
  c.roots.push_back(second);
  c.findings.push_back(second);

  analysis::finding nan = second;
  nan.symptom = "nan";
  nan.cause = "fully-masked-row";
  nan.seen_in = analysis::side::test;
  nan.evidence = {{"count", 64}};
  nan.control = "";
  c.nonfinite_origin = nan;
  c.health = analysis::health::nonfinite;

  for (std::int64_t step = 0; step < 13; ++step) {
    analysis::finding lost;
    lost.where = place_of(step, "decoder.layer.0.attn", "cast", "x");
    lost.symptom = "underflow";
    lost.cause = "cast-underflow";
    lost.message = "makes small values zero";
    c.information_lost.push_back(lost);
  }

  analysis::finding structure;
  structure.where = place_of(5, "decoder.layer.1.attn", "dropout", "");
  structure.where.role = role::none;
  structure.symptom = "structure";
  structure.cause = "structure-differs";
  structure.message = "has no partner in the reference";
  c.findings.push_back(structure);
  c.totals.test.captures += 2;
  c.totals.test.only_there = 2;

  analysis::finding benign;
  benign.where = place_of(0, "embed", "tokens", "y");
  benign.symptom = "noise";
  benign.cause = "expected-rounding";
  benign.benign = true;
  benign.evidence = {{"captures", 985}};
  c.findings.push_back(benign);

  for (int i = 0; i < 12; ++i) {
    analysis::table_row row;
    row.where = place_of(3 + i, "decoder.a.rather.deep.scope.that.does.not.fit.layer.2.mlp", "fc2", "y");
    row.verdict = i < 4 ? analysis::verdict::beyond : analysis::verdict::within;
    row.reference_dtype = dtype::f32;
    row.test_dtype = dtype::bf16;
    row.apart.from_values = i != 1;
    row.apart.from_sketch = i == 1;
    row.apart.relative_l2 = 0.0123456 / (1 + i);
    if (i != 1) row.apart.worst_ulp = 37 - i;
    row.local_ratio = i == 1 ? 0 : 12.3 / (1 + i);
    row.limit = 1.3;
    c.worst.push_back(row);
  }
  c.manifest_differences = {{"hostname", manifest_class::identity, "n1", "n2"},
                            {"omp.threads", manifest_class::performance, "8", "16"},
                            {"fp.environment", manifest_class::numeric, "nearest", "nearest, ftz, daz"},
                            {"seed", manifest_class::numeric, "7", ""}};
  c.warnings = {"run_b.h5 was not closed: 3 rows behind its last commit could not be read"};
  return c;
}

inline analysis::comparison incomplete() {
  analysis::comparison c = agreeing();
  c.verdict = analysis::outcome::incomplete;
  c.complete = false;
  c.totals.within = 0;
  c.totals.equal = 0;
  c.totals.matched = 0;
  c.totals.reference = {1200, 0, 0, 0, 1200, 0, 0};
  c.totals.test = {1204, 0, 4, 0, 1200, 0, 0};
  c.incomplete_because = {"nothing was compared: the runs have no op in common"};
  return c;
}

}  // namespace numdiff::test
