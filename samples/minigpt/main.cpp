#include <cstdio>
#include <exception>
#include <stdexcept>

#include "faults.hpp"
#include "train.hpp"

int main(int argc, char** argv) {
  try {
    minigpt::ranks world(&argc, &argv);
    const minigpt::options o = minigpt::parse(argc, argv);
    if (o.list_faults) {
      minigpt::print_faults();
      return 0;
    }
    if (!o.fault.empty() && !minigpt::is_fault(o.fault)) throw std::runtime_error("unknown fault " + o.fault);
    world.split(o.mesh);
    minigpt::train(o, world, stdout);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "minigpt: %s\n", error.what());
    return 2;
  }
}
