# A BLAS that starts no threads of its own and may be called from many, linked by explicit path: the distribution's default
# may be a threaded one, whose results depend on the number of threads. It is BLIS, for the reason given in
# docs/decisions/0001-products.md. Defines the target SerialBlas::SerialBlas.
find_path(SerialBlas_INCLUDE_DIR blis.h
  PATHS /usr/include/${CMAKE_LIBRARY_ARCHITECTURE} /usr/include PATH_SUFFIXES blis-serial NO_DEFAULT_PATH)
find_library(SerialBlas_LIBRARY libblis.a
  PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE} /usr/lib PATH_SUFFIXES blis-serial NO_DEFAULT_PATH)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SerialBlas
  REQUIRED_VARS SerialBlas_LIBRARY SerialBlas_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "Debian: apt-get install libblis-serial-dev. Elsewhere: BLIS configured with \
--disable-threading --enable-cblas, given by -DSerialBlas_LIBRARY=.../libblis.a -DSerialBlas_INCLUDE_DIR=...")

if(SerialBlas_FOUND AND NOT TARGET SerialBlas::SerialBlas)
  add_library(SerialBlas::SerialBlas STATIC IMPORTED)
  set_target_properties(SerialBlas::SerialBlas PROPERTIES IMPORTED_LOCATION "${SerialBlas_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${SerialBlas_INCLUDE_DIR}" INTERFACE_LINK_LIBRARIES m)
endif()
mark_as_advanced(SerialBlas_INCLUDE_DIR SerialBlas_LIBRARY)
