# A BLAS that starts no threads of its own, linked by explicit path: the distribution's default BLAS may be a threaded
# one, whose results depend on the number of threads. Defines the target SerialBlas::SerialBlas.
find_path(SerialBlas_INCLUDE_DIR cblas.h
  PATHS /usr/include/${CMAKE_LIBRARY_ARCHITECTURE} /usr/include PATH_SUFFIXES openblas-serial NO_DEFAULT_PATH)
find_library(SerialBlas_LIBRARY libopenblas.a
  PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE} /usr/lib PATH_SUFFIXES openblas-serial NO_DEFAULT_PATH)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SerialBlas
  REQUIRED_VARS SerialBlas_LIBRARY SerialBlas_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "Debian: apt-get install libopenblas-serial-dev. Elsewhere: an OpenBLAS built with \
USE_THREAD=0 USE_LOCKING=1, given by -DSerialBlas_LIBRARY=.../libopenblas.a -DSerialBlas_INCLUDE_DIR=...")

if(SerialBlas_FOUND AND NOT TARGET SerialBlas::SerialBlas)
  add_library(SerialBlas::SerialBlas STATIC IMPORTED)
  set_target_properties(SerialBlas::SerialBlas PROPERTIES
    IMPORTED_LOCATION "${SerialBlas_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${SerialBlas_INCLUDE_DIR}")
endif()
mark_as_advanced(SerialBlas_INCLUDE_DIR SerialBlas_LIBRARY)
