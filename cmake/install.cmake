# What `cmake --install` puts where. The plugin has a folder of its own, which a container can mount: NCCL finds the plugin
# there, and the plugin its stub beside itself.
set(RAILWITNESS_PLUGIN_FOLDER lib/railwitness)

install(TARGETS railwitness RUNTIME DESTINATION bin)
install(TARGETS nccl-net-railwitness tap-verbs LIBRARY DESTINATION ${RAILWITNESS_PLUGIN_FOLDER})
install(FILES ${CMAKE_BINARY_DIR}/lib/libnccl-profiler-railwitness.so DESTINATION ${RAILWITNESS_PLUGIN_FOLDER})
install(DIRECTORY include/railwitness/abi DESTINATION include/railwitness FILES_MATCHING PATTERN *.h)
install(FILES README.md CHANGELOG.md CONTRIBUTING.md LICENSE DESTINATION share/doc/railwitness)
install(DIRECTORY docs DESTINATION share/doc/railwitness)

# The unit names the program by its full path, which is known only now: --prefix may be another one than at configuration.
install(CODE "
  set(prefix \"\${CMAKE_INSTALL_PREFIX}\")
  set(unit \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/systemd/system/railwitness-sidecar.service\")
  configure_file(\"${CMAKE_SOURCE_DIR}/cmake/railwitness-sidecar.service.in\" \"\${unit}\" @ONLY)
  message(STATUS \"Installing: \${unit}\")")
