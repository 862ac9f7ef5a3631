# SPDX-License-Identifier: Apache-2.0
# Files that `cmake --install` installs; each component is a Debian package. Programs find other parts by their own place.
include(CMakePackageConfigHelpers)
if(NOT CMAKE_INSTALL_LIBDIR AND CMAKE_LIBRARY_ARCHITECTURE AND EXISTS /etc/debian_version)
    set(CMAKE_INSTALL_LIBDIR lib/${CMAKE_LIBRARY_ARCHITECTURE})  # below /usr/local, too: packages come from any build
endif()
include(GNUInstallDirs)
set(TUTTI_PYTHON_FOLDER lib/python3/dist-packages CACHE STRING "Where the Python module goes, below the prefix")
set(runtime libtutti${TUTTI_ABI})
set(headers ${CMAKE_INSTALL_INCLUDEDIR}/tutti)

# The command, its other names, and its scripts.
install(TARGETS tutti RUNTIME DESTINATION bin COMPONENT tutti)
get_property(links GLOBAL PROPERTY TUTTI_LINKS)
install(FILES ${links} DESTINATION bin COMPONENT tutti)
install(PROGRAMS scripts/ci_guard scripts/draw.py scripts/report.py scripts/results.py
    DESTINATION share/tutti/scripts COMPONENT tutti)
install(DIRECTORY scripts/plots DESTINATION share/tutti/scripts COMPONENT tutti
    PATTERN __pycache__ EXCLUDE)
install(DIRECTORY python/tutti python/tutti_torch DESTINATION ${TUTTI_PYTHON_FOLDER} COMPONENT python3-tutti
    PATTERN __pycache__ EXCLUDE)
cmake_path(RELATIVE_PATH TUTTI_PYTHON_FOLDER BASE_DIRECTORY share/tutti/python OUTPUT_VARIABLE modules)
install(CODE "
    set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/tutti/python\")
    file(MAKE_DIRECTORY \"\${folder}\")
    file(CREATE_LINK ${modules}/tutti \"\${folder}/tutti\" SYMBOLIC)" COMPONENT tutti)

# Manual pages and completion, which the command prints.
list(JOIN links "\" \"" quoted_links)  # a path may have spaces
install(CODE "
    set(man \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/man/man1\")
    execute_process(COMMAND_ERROR_IS_FATAL ANY COMMAND python3 \"${PROJECT_SOURCE_DIR}/packaging/man_pages.py\"
        \"$<TARGET_FILE:tutti>\" \"\${man}\" \"${quoted_links}\")" COMPONENT tutti)
foreach(completion bash=bash-completion/completions/tutti zsh=zsh/vendor-completions/_tutti
        fish=fish/vendor_completions.d/tutti.fish)
    string(REPLACE "=" ";" completion ${completion})
    list(POP_FRONT completion shell file)
    install(CODE "
        set(file \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/${file}\")
        execute_process(COMMAND_ERROR_IS_FATAL ANY COMMAND \"$<TARGET_FILE:tutti>\" completion ${shell} OUTPUT_VARIABLE script)
        file(WRITE \"\${file}\" \"\${script}\")" COMPONENT tutti)
endforeach()
install(FILES README.md CHANGELOG.md DESTINATION share/doc/tutti COMPONENT tutti)
install(DIRECTORY docs DESTINATION share/doc/tutti COMPONENT tutti PATTERN CMakeLists.txt EXCLUDE)

# The library.
install(TARGETS tutti_shared tutti_c tutti_heap EXPORT tutti
    LIBRARY COMPONENT ${runtime} NAMELINK_COMPONENT libtutti-dev INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
foreach(preload tutti_mpi tutti_mpi_abi)
    if(TARGET ${preload})
        install(TARGETS ${preload} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${runtime} NAMELINK_COMPONENT libtutti-dev)
    endif()
endforeach()
# A plugin is no library to link: it has a folder of its own.
install(TARGETS tutti_nccl_plugin LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tutti COMPONENT ${runtime})
install(CODE "set(tutti_headers \"\${CMAKE_INSTALL_PREFIX}/${headers}\")" COMPONENT libtutti-dev)
install(SCRIPT cmake/install_headers.cmake COMPONENT libtutti-dev)
install(FILES collectives/heap/tutti_heap.h library/c/include/tutti/tutti.h collectives/baselines/tutti_nccl.h DESTINATION ${headers} COMPONENT libtutti-dev)
install(EXPORT tutti NAMESPACE tutti:: FILE tutti-config.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tutti
    COMPONENT libtutti-dev)
write_basic_package_version_file(tutti-config-version.cmake COMPATIBILITY SameMinorVersion)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_INCLUDEDIR BASE_DIRECTORY ${CMAKE_INSTALL_LIBDIR}/pkgconfig OUTPUT_VARIABLE INCLUDES)
set(RPATH @RPATH@)
configure_file(library/tutti.pc.in tutti.pc @ONLY)
configure_file(library/c/tutti_c.pc.in tutti_c.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tutti-config-version.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tutti
    COMPONENT libtutti-dev)
# Programs find the library by their rpath, except below /usr, which the loader searches.
install(CODE "
    set(RPATH \"-Wl,-rpath,\\\${libdir} \")
    if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
        set(RPATH)
    endif()
    foreach(name tutti tutti_c)
        set(file \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig/\${name}.pc\")
        configure_file(\"${CMAKE_CURRENT_BINARY_DIR}/\${name}.pc\" \"\$ENV{DESTDIR}\${file}\" @ONLY)
        list(APPEND CMAKE_INSTALL_MANIFEST_FILES \"\${file}\")
    endforeach()" COMPONENT libtutti-dev)
# The libraries without the command.
add_custom_target(tutti_libraries DEPENDS tutti_shared tutti_c tutti_heap tutti_nccl_plugin)
foreach(preload tutti_mpi tutti_mpi_abi)
    if(TARGET ${preload})
        add_dependencies(tutti_libraries ${preload})
    endif()
endforeach()
