// The CPU targets that kernels are compiled for; to be included before Highway. On x86-64, SSE4 is what every build
// needs; AVX2 and AVX-512 are chosen where the CPU has them. On arm64 it is NEON: SVE's vectors have no fixed size, and
// cannot lie in arrays as the tiles of the kernels do.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#define HWY_DISABLE_PCLMUL_AES  // SSE4 without the instructions for encryption
