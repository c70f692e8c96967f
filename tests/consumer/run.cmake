# Installs into an empty folder, and builds and runs a small project against what is there. LIBRARY: grbm, with everything
# that is installed with it, or the component of that name. FORM: SHARED_LIBRARY or STATIC_LIBRARY, what it must be.
file(REMOVE_RECURSE ${WORK})
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
if(LIBRARY STREQUAL grbm)
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
  run(${WORK}/prefix/bin/grbm --version)
else()
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix --component ${LIBRARY})
endif()
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -G Ninja -DCMAKE_PREFIX_PATH=${WORK}/prefix
  -DCMAKE_BUILD_TYPE=Release -DFORM=${FORM})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/consumer)
