#pragma once
// The runtime, compiled once: by the library numdiff::runtime, or by one file of a program.
#include "numdiff/abi.h"

extern "C" {

uint32_t numdiff_v1_active = 0;

uint64_t numdiff_v1_session_open(const numdiff_session_v1* /*options*/) noexcept {
  return 0;
}
void numdiff_v1_session_close(uint64_t /*session*/) noexcept {}
int numdiff_v1_session_flush(uint64_t /*session*/) noexcept {
  return 1;
}
void numdiff_v1_session_mesh(uint64_t, const char*, int32_t, int32_t) noexcept {}
void numdiff_v1_session_manifest(uint64_t, const char*, const char*, uint16_t) noexcept {}
void numdiff_v1_session_update(uint64_t, int64_t) noexcept {}
void numdiff_v1_statistics(numdiff_statistics_v1*) noexcept {}
const char* numdiff_v1_last_error(void) noexcept {
  return "";
}
uint64_t numdiff_v1_context_push(const numdiff_context_v1*) noexcept {
  return 0;
}
void numdiff_v1_context_pop(uint64_t) noexcept {}
uint64_t numdiff_v1_context_current(void) noexcept {
  return 0;
}
uint64_t numdiff_v1_context_copy(uint64_t) noexcept {
  return 0;
}
void numdiff_v1_context_release(uint64_t) noexcept {}
uint64_t numdiff_v1_context_enter(uint64_t) noexcept {
  return 0;
}
uint64_t numdiff_v1_op_begin(const numdiff_op_v1*) noexcept {
  return 0;
}
void numdiff_v1_op_end(uint64_t) noexcept {}
void numdiff_v1_capture(uint64_t, const numdiff_capture_v1*) noexcept {}
void numdiff_v1_tensor(const numdiff_capture_v1*) noexcept {}
void numdiff_v1_counts(uint64_t, const char*, const numdiff_counts_v1*) noexcept {}
void numdiff_v1_collective(uint64_t, const numdiff_collective_v1*) noexcept {}
void numdiff_v1_event(uint16_t, const char*, uint64_t, uint64_t) noexcept {}
void* numdiff_v1_device_slots(uint64_t) noexcept {
  return nullptr;
}
void numdiff_v1_register_device(const numdiff_device_v1*) noexcept {}
}
