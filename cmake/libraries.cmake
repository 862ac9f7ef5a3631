# SPDX-License-Identifier: Apache-2.0
# What is found decides which files are built; a missing library leaves its row out of `tutti list`.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tinyxml2 REQUIRED)

set(TUTTI_WITH_MPI OFF)
if(TUTTI_MPI)
    find_package(MPI COMPONENTS C)
    if(MPI_C_FOUND)
        set(TUTTI_WITH_MPI ON)
        # The C interface only: the old C++ one would need a library of its own.
        target_compile_definitions(MPI::MPI_C INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
    else()
        message(STATUS "no MPI library found: ranks are threads (--ranks N)")
    endif()
endif()

# TUTTI_WITH_<NAME>: wanted (TUTTI_<NAME>) and known to pkg-config as `package`; else says what is lost.
macro(tutti_find_by_pkg_config NAME package loss)
    set(TUTTI_WITH_${NAME} OFF)
    if(TUTTI_${NAME})
        find_package(PkgConfig)
        if(PKG_CONFIG_FOUND)
            pkg_check_modules(${NAME} IMPORTED_TARGET ${package})
        endif()
        if(${NAME}_FOUND)
            set(TUTTI_WITH_${NAME} ON)
        else()
            message(STATUS "no ${package} found: ${loss}")
        endif()
    endif()
endmacro()

tutti_find_by_pkg_config(HWLOC hwloc "the machine is described by /proc and /sys alone")
tutti_find_by_pkg_config(UCX ucx "no transport ucx")
