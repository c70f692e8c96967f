// The CPU targets that kernels are compiled for; to be included before Highway. On x86-64, SSE4 is what every build
// needs; AVX2 and AVX-512 are chosen where the CPU has them.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#define HWY_DISABLE_PCLMUL_AES  // SSE4 without the instructions for encryption
