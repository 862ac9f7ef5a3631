# SPDX-License-Identifier: Apache-2.0
# Three measures that make a fresh build three times as fast. Sources do not depend on them: each file compiles alone.

# GCC only: clang refuses a precompiled header that was made with another -O.
set(precompiles OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    set(precompiles ${PROJECT_IS_TOP_LEVEL})
endif()
option(TUTTI_PRECOMPILED_HEADERS "Read the standard headers once for all files" ${precompiles})

# tutti_precompiled_headers(TARGET HEADERS...): reads them once, for targets that name it by tutti_precompile.
function(tutti_precompiled_headers target)
    if(NOT TUTTI_PRECOMPILED_HEADERS)
        return()
    endif()
    add_library(${target} OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled.cpp)
    target_link_libraries(${target} PRIVATE tutti_flags fmt::fmt)
    target_precompile_headers(${target} PRIVATE ${ARGN})
    if(CCACHE_PROGRAM)
        target_compile_options(${target} PRIVATE -fpch-preprocess)
    endif()
endfunction()

function(tutti_precompile target headers)
    # Kernels have flags of their own for each instruction set.
    if(TARGET ${headers} AND NOT target STREQUAL tutti_kernels)
        target_precompile_headers(${target} REUSE_FROM ${headers})
        if(CCACHE_PROGRAM)
            target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
        endif()
    endif()
endfunction()

set(standard_headers <algorithm> <array> <atomic> <chrono> <cmath> <cstdint> <cstring> <filesystem> <fstream>
    <functional> <iostream> <map> <memory> <numeric> <optional> <ranges> <set> <span> <sstream> <string>
    <string_view> <thread> <utility> <variant> <vector> <fmt/format.h>)
tutti_precompiled_headers(tutti_precompiled ${standard_headers})
# GCC 13 and later refuse precompiled headers of another -O than that of the file that reads them.
set(rarely_run_options $<$<CONFIG:Release>:-O1>)
tutti_precompiled_headers(tutti_precompiled_rarely_run ${standard_headers})
if(TARGET tutti_precompiled_rarely_run)
    target_compile_options(tutti_precompiled_rarely_run PRIVATE ${rarely_run_options})
endif()

# Folders whose code takes longer to optimise than to run: commands, pictures, files that are read once. Code that moves, reduces,
# times or searches is not among them.
set(rarely_run_folders /cli/ /cli/bench/ /cli/compare/ /cli/forms/ /cli/jobs/ /cli/known/ /cli/options/ /cli/progress/ /cli/ranks/
    /cli/show/ /results/summary/ /results/tables/ /results/views/ /topology/detect/ /topology/draw/ /topology/import/ /topology/machine/
    /workloads/models/ /workloads/scenarios/ /workloads/traces/)

# tutti_folder_of(OUT SOURCE): its folder below the project, as /cli/options/.
function(tutti_folder_of out source)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE path)
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE path)
    cmake_path(GET path PARENT_PATH folder)
    set(${out} /${folder}/ PARENT_SCOPE)
endfunction()

# tutti_split_by_optimisation(RARELY OFTEN SOURCES...)
function(tutti_split_by_optimisation rarely often)
    set(rarely_run)
    set(often_run)
    foreach(source ${ARGN})
        tutti_folder_of(folder ${source})
        if(folder IN_LIST rarely_run_folders)
            list(APPEND rarely_run ${source})
        else()
            list(APPEND often_run ${source})
        endif()
    endforeach()
    set(${rarely} ${rarely_run} PARENT_SCOPE)
    set(${often} ${often_run} PARENT_SCOPE)
endfunction()

# Workloads, readers of traces and libraries' baselines are rows of a table: each has the same functions under the
# same names.
set(single_file_folders /collectives/baselines/ /workloads/scenarios/ /workloads/traces/)
# tutti_compile_together(TARGET HEADERS): by the precompiled headers and, with TUTTI_UNITY, folder by folder.
function(tutti_compile_together target headers)
    tutti_precompile(${target} ${headers})
    if(NOT TUTTI_UNITY OR target STREQUAL tutti_kernels)  # kernels: each instruction set has types of the same names
        return()
    endif()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "\\.cpp$")
    foreach(source ${sources})
        tutti_folder_of(folder ${source})
        string(MAKE_C_IDENTIFIER ${folder} group)
        if(folder IN_LIST single_file_folders)
            set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
        else()
            set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
        endif()
    endforeach()
endfunction()
