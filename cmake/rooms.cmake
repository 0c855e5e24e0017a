# Rooms: folders with declared arrows. Each function records its arrows; railwitness_write_arrows() writes them to
# <build>/arrows.txt, one line a room, which the test `arrows` compares with every #include.

set_property(GLOBAL PROPERTY railwitness_arrows "")

function(railwitness_record room)
  string(REPLACE ";" " " allowed "${ARGN}")
  set_property(GLOBAL APPEND PROPERTY railwitness_arrows "${room}: ${allowed}")
endfunction()

# A room of headers only; nothing to build.
function(railwitness_headers room)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" MAY_INCLUDE)
  railwitness_record(${room} ${arg_MAY_INCLUDE})
endfunction()

# A room whose *.cc become the object library named after it (probes/ring: probes_ring), linked to the rooms it may
# include. railwitness_link(ROOM LIBRARY...) adds libraries of others.
function(railwitness_room room)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" MAY_INCLUDE)
  railwitness_record(${room} ${arg_MAY_INCLUDE})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${room}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  string(REPLACE "/" "_" target ${room})
  if(sources)
    add_library(${target} STATIC ${sources})
    set(scope PUBLIC)
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_link_libraries(${target} ${scope} railwitness_flags)
  foreach(other ${arg_MAY_INCLUDE})
    if(NOT other MATCHES "^include/")
      string(REPLACE "/" "_" other ${other})
      target_link_libraries(${target} ${scope} ${other})
    endif()
  endforeach()
endfunction()

# A folder that wires rooms together; it builds what its own CMakeLists.txt says.
function(railwitness_wires room)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" MAY_INCLUDE)
  railwitness_record(${room} ${arg_MAY_INCLUDE})
endfunction()

# A folder that may include everything and that nothing may include.
function(railwitness_anything room)
  railwitness_record(${room} "*")
endfunction()

function(railwitness_write_arrows)
  get_property(arrows GLOBAL PROPERTY railwitness_arrows)
  list(JOIN arrows "\n" text)
  file(WRITE ${CMAKE_BINARY_DIR}/arrows.txt "${text}\n")
endfunction()
