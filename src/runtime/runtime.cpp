// The runtime as a shared library: it owns the recorder of a process.
#define NUMDIFF_IMPLEMENTATION
#include "numdiff/session.hpp"
