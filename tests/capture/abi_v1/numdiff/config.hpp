#pragma once
// The only file that reads switches. Each is 0 or 1, and must be the same for every file of a target.

// 1: probes record when a session is open. 0: probes are parsed, never evaluated, and leave no code.
#ifndef NUMDIFF_ENABLE
#define NUMDIFF_ENABLE 1
#endif
#if NUMDIFF_ENABLE != 0 && NUMDIFF_ENABLE != 1
#error "NUMDIFF_ENABLE must be 0 or 1"
#endif

// Marks functions callable from kernels; empty outside CUDA.
#if defined(__CUDACC__)
#define NUMDIFF_HD __host__ __device__
#else
#define NUMDIFF_HD
#endif
