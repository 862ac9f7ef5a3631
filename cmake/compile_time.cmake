# SPDX-License-Identifier: Apache-2.0
# Two things that halve the time of a build from nothing. Sources do not depend on either: each compiles alone.

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

# Folders whose code takes longer to optimise than it ever runs: commands, pictures, files that are read once.
# What moves, reduces, times or searches is not among them.
set(quick_folders /cli/ /cli/options/ /topology/detect/ /topology/draw/ /topology/import/ /topology/machine/
    /workloads/models/ /workloads/scenarios/ /workloads/traces/)
function(tutti_compile_quickly)
    foreach(source ${ARGN})
        cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE path)
        cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE path)
        cmake_path(GET path PARENT_PATH folder)
        if("/${folder}/" IN_LIST quick_folders)
            set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O1>)
        endif()
    endforeach()
endfunction()
