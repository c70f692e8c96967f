# Toolchain: Debian's cross compiler for arm64, libraries from the folder that tools/sysroot fills, programs run by
# QEMU.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(GRBM_SYSROOT "${CMAKE_CURRENT_LIST_DIR}/../build-arm64/sysroot" CACHE PATH "What `tools/sysroot arm64` has filled")
get_filename_component(GRBM_SYSROOT "${GRBM_SYSROOT}" ABSOLUTE)
set(libraries "${GRBM_SYSROOT}/usr/lib/aarch64-linux-gnu")
set(CMAKE_FIND_ROOT_PATH "${GRBM_SYSROOT}" /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${GRBM_SYSROOT}")
set(ENV{PKG_CONFIG_LIBDIR} "${libraries}/pkgconfig:${GRBM_SYSROOT}/usr/share/pkgconfig")

# Without notes on what GCC 10 changed.
set(CMAKE_CXX_FLAGS_INIT "-Wno-psabi -isystem ${GRBM_SYSROOT}/usr/include/aarch64-linux-gnu")
# No --sysroot: the C and C++ libraries are the compiler's own. Libraries of libraries are looked for here.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath-link,${libraries}:${GRBM_SYSROOT}/lib/aarch64-linux-gnu")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-Wl,-rpath-link,${libraries}:${GRBM_SYSROOT}/lib/aarch64-linux-gnu")
set(CMAKE_CROSSCOMPILING_EMULATOR
  qemu-aarch64 -L /usr/aarch64-linux-gnu
  -E "LD_LIBRARY_PATH=${libraries}:${GRBM_SYSROOT}/lib/aarch64-linux-gnu:/usr/aarch64-linux-gnu/lib")
