# The page of reports and of the dashboard: web/ bundled into one HTML file, which becomes the source file GRBM_PAGE.
# Its tools come from npm, when the build is configured. Where that cannot be, the page is empty and all else is built.
option(GRBM_WEB "Build the page of reports and of the dashboard (needs npm)" ON)
set(GRBM_PAGE "${CMAKE_CURRENT_BINARY_DIR}/page_text.cc")
set(web "${PROJECT_SOURCE_DIR}/web")
find_program(NODE_PROGRAM node)
find_program(NPM_PROGRAM npm)

set(why_not "")
if(NOT GRBM_WEB)
  set(why_not "GRBM_WEB is off")
elseif(NOT NODE_PROGRAM OR NOT NPM_PROGRAM)
  set(why_not "node and npm (Node.js 18 or later) were not found")
else()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${web}/package-lock.json")
  set(installed "${web}/node_modules/.package-lock.json")  # npm writes it last
  if(NOT EXISTS "${installed}" OR "${web}/package-lock.json" IS_NEWER_THAN "${installed}")
    message(STATUS "Installing the page's tools: npm ci in web/")
    execute_process(COMMAND "${NPM_PROGRAM}" ci --ignore-scripts --loglevel=error WORKING_DIRECTORY "${web}"
      RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE reason)
    if(failed)
      string(REGEX MATCH "npm (ERR!|error)[^\n]*" reason "${reason}")
      set(why_not "npm ci failed: ${reason}")
    endif()
  endif()
endif()

if(why_not)
  message(STATUS "grbm report and grbm dashboard are left out: ${why_not}")
  file(CONFIGURE OUTPUT "${GRBM_PAGE}" @ONLY CONTENT [[
#include "dashboard/page.h"

const std::string_view grbm::kPageText;
]])
  set(GRBM_HAS_PAGE OFF CACHE INTERNAL "")
else()
  file(GLOB page_sources CONFIGURE_DEPENDS "${web}/src/*" "${web}/*.json" "${web}/build.mjs")
  add_custom_command(OUTPUT "${GRBM_PAGE}" COMMAND "${NODE_PROGRAM}" build.mjs "${GRBM_PAGE}"
    WORKING_DIRECTORY "${web}" DEPENDS ${page_sources} COMMENT "Bundling the page" VERBATIM)
  set(GRBM_HAS_PAGE ON CACHE INTERNAL "")
endif()
