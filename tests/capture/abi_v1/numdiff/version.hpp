#pragma once
// The single source of the version: CMake reads these three lines.
#define NUMDIFF_VERSION_MAJOR 0
#define NUMDIFF_VERSION_MINOR 1
#define NUMDIFF_VERSION_PATCH 0
