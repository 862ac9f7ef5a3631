# SPDX-License-Identifier: Apache-2.0
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    # ccache must ignore these to work with precompiled headers. Objects are the same in each checkout.
    set(CMAKE_CXX_COMPILER_LAUNCHER
        ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE_PROGRAM})
    if(NOT DEFINED CMAKE_CUDA_COMPILER_LAUNCHER)
        set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
    endif()
endif()

# All layers can be linked into libtutti.so, which exports the declarations of public headers (library/CMakeLists.txt).
add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-fPIC>" "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-fPIC>")
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_CUDA_VISIBILITY_PRESET hidden)

add_library(tutti_flags INTERFACE)
target_include_directories(tutti_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_features(tutti_flags INTERFACE cxx_std_20)
# Only in this tree: programs that link tutti have their own warnings.
# designated initialisers leave the defaults out on purpose
set(warnings -Wall -Wextra -Wno-missing-field-initializers)
if(NOT TUTTI_UNITY)
    list(APPEND warnings -Wshadow)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # In unity builds, shadowing names of other files and of headers is not a problem.
    list(APPEND warnings -Wshadow=local $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
endif()
add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:${warnings};-Wpedantic>")
if(TUTTI_WERROR)
    add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-Werror>" "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>")
endif()
if(TUTTI_SANITIZE)
    target_compile_options(tutti_flags INTERFACE -fsanitize=${TUTTI_SANITIZE}
        -fno-omit-frame-pointer -fno-sanitize-recover=undefined
        # false alarms of g++ 12 in instrumented code
        "$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-stringop-overflow;-Wno-array-bounds>")
    target_link_options(tutti_flags INTERFACE -fsanitize=${TUTTI_SANITIZE} -rdynamic)
endif()
if(TUTTI_FUZZ)
    if(NOT CMAKE_CXX_COMPILER_ID STREQUAL Clang)
        message(FATAL_ERROR "TUTTI_FUZZ needs clang 16 or newer; scripts/fuzz finds it")
    endif()
    target_compile_options(tutti_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# tutti_layer(NAME SOURCES ... LINK ... PRIVATE ...): one folder as a static library that can include only what it links.
# Targets that link it get LINK as well, but not PRIVATE, so that PRIVATE changes no other command of the build.
function(tutti_layer name)
    cmake_parse_arguments(LAYER "" "" "SOURCES;LINK;PRIVATE" ${ARGN})
    tutti_split_by_optimisation(rarely_run often_run ${LAYER_SOURCES})
    add_library(tutti_${name} STATIC ${often_run})
    target_link_libraries(tutti_${name} PUBLIC tutti_flags ${LAYER_LINK} PRIVATE ${LAYER_PRIVATE})
    tutti_compile_together(tutti_${name} tutti_precompiled)
    if(rarely_run)
        add_library(tutti_${name}_rarely_run OBJECT ${rarely_run})
        target_link_libraries(tutti_${name}_rarely_run PUBLIC tutti_flags ${LAYER_LINK} PRIVATE ${LAYER_PRIVATE})
        target_compile_options(tutti_${name}_rarely_run PRIVATE ${rarely_run_options})
        tutti_compile_together(tutti_${name}_rarely_run tutti_precompiled_rarely_run)
        target_sources(tutti_${name} PRIVATE $<TARGET_OBJECTS:tutti_${name}_rarely_run>)
    endif()
endfunction()

# tutti_sources(OUT FOLDERS ... EXCEPT ...): the .cpp files of folders, except those that CMake selects.
function(tutti_sources out)
    cmake_parse_arguments(ROOM "" "" "FOLDERS;EXCEPT" ${ARGN})
    set(found)
    foreach(folder ${ROOM_FOLDERS})
        file(GLOB sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${folder}/*.cpp)
        list(APPEND found ${sources})
    endforeach()
    list(FILTER found EXCLUDE REGEX "_bench\\.cpp$")
    if(ROOM_EXCEPT)
        list(REMOVE_ITEM found ${ROOM_EXCEPT})
    endif()
    set(${out} ${found} PARENT_SCOPE)
endfunction()
