# Installs headers, the runtime with its HDF5 sink, and the program, and exports numdiff::numdiff and numdiff::runtime.
# GNU numdiff owns /usr/bin/numdiff on Debian: the default prefix /usr/local does not touch it.
include(CMakePackageConfigHelpers)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS numdiff_headers numdiff_runtime EXPORT numdiff-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET numdiff_hdf5)
  install(TARGETS numdiff_hdf5 LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/numdiff)
endif()
if(TARGET numdiff_tool)
  install(TARGETS numdiff_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(TARGET numdiff_mpi)
  install(TARGETS numdiff_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/numdiff)
endif()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/numdiff)
install(EXPORT numdiff-targets NAMESPACE numdiff:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/numdiff-config.cmake.in
  ${PROJECT_BINARY_DIR}/numdiff-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/numdiff-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/numdiff-config.cmake ${PROJECT_BINARY_DIR}/numdiff-config-version.cmake
        DESTINATION ${package_dir})
