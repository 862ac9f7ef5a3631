# SPDX-License-Identifier: Apache-2.0
# The Debian packages that scripts/package makes from the files of cmake/install.cmake.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "The tutti authors <tutti@example.org>")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_COMPONENTS_ALL)

# Debian's changelog only refers to CHANGELOG.md.
set(documents ${PROJECT_BINARY_DIR}/debian)
string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${documents}/changelog "tutti (${PROJECT_VERSION}) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n"
    " -- ${CPACK_PACKAGE_CONTACT}  ${now}\n")
execute_process(COMMAND gzip -9nkf ${documents}/changelog)

# tutti_package(NAME DESCRIPTION [KEY VALUE]...): what is in the control file, as DEPENDS and its value. Python's
# compiled files come and go with the package, those in `folder` too.
function(tutti_package name description)
    string(TOUPPER ${name} component)
    set(CPACK_COMPONENT_${component}_DESCRIPTION "${description}" PARENT_SCOPE)
    set(values NAME ${name} SOURCE tutti ${ARGN})
    set(folder)
    set(scripts)
    if(name STREQUAL tutti)
        set(folder /usr/share/tutti)
    endif()
    if(name STREQUAL runtime)
        set(scripts ${PROJECT_SOURCE_DIR}/packaging/debian/triggers)
    elseif(NOT name STREQUAL libtutti-dev)
        foreach(script postinst prerm)
            configure_file(packaging/debian/${script}.in ${documents}/${name}/${script} @ONLY)
            list(APPEND scripts ${documents}/${name}/${script})
        endforeach()
    endif()
    set(CPACK_DEBIAN_${component}_PACKAGE_CONTROL_EXTRA "${scripts}" PARENT_SCOPE)
    while(values)
        list(POP_FRONT values key value)
        set(CPACK_DEBIAN_${component}_PACKAGE_${key} ${value} PARENT_SCOPE)
    endwhile()
    set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${name} PARENT_SCOPE)
    install(FILES packaging/debian/copyright ${documents}/changelog.gz DESTINATION share/doc/${name} COMPONENT ${name})
endfunction()

set(same "(= ${PROJECT_VERSION})")
tutti_package(tutti "benchmark and tuning of collective communication
Measures, proves, tunes and compares all-reduce, all-gather, broadcast and
their relatives: own algorithms next to those of the MPI library, over shared
memory, MPI and UCX, in ranks of mpirun or in threads of one process."
    SECTION science DEPENDS "python3, python3-tutti ${same}, ${runtime} ${same}"
    RECOMMENDS "openmpi-bin, python3-matplotlib" SUGGESTS "libtutti-dev, git")
tutti_package(${runtime} "collective communication by the best algorithm for each call
tutti::Communicator does the collectives of a C++ program by the algorithm that
was fastest on this machine, libtutti_c those of programs in C. libtutti_mpi
does the same for unmodified MPI programs. libtutti_heap, in any program,
allocates memory that other processes of the host can reach. NCCL loads
libtutti_nccl to follow a tuning table."
    SECTION libs)
tutti_package(libtutti-dev "collective communication by the best algorithm (development files)
Headers of libtutti and libtutti_c, and what CMake and pkg-config need to find
them."
    SECTION libdevel DEPENDS "${runtime} ${same}")
tutti_package(python3-tutti "collectives and results of tutti in Python, and PyTorch over tutti
The module tutti does collectives of numpy arrays and other buffers. It also
reads the results files of the command, with pandas or not, keeps them in a
database, and finds where they changed. The module tutti_torch is a backend of
torch.distributed, and a communication hook."
    SECTION python DEPENDS "python3, python3-numpy" RECOMMENDS "python3-pandas, ${runtime}" SUGGESTS python3-torch
    ARCHITECTURE all)
include(CPack)
