# How everything is compiled.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS ON) # plugin/tap/stub.c: dladdr, dlvsym
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
# Line numbers are enough for a backtrace; full debug information doubles the time to compile and link.
string(REPLACE "-g" "-g1" CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")
string(REPLACE "-g" "-g1" CMAKE_C_FLAGS_RELWITHDEBINFO "${CMAKE_C_FLAGS_RELWITHDEBINFO}")

set(RAILWITNESS_SANITIZE "" CACHE STRING "empty, address (with undefined behaviour) or thread")
option(RAILWITNESS_COVERAGE "instrument for gcov" OFF)
option(RAILWITNESS_WITHOUT_NCCL "build and test without the real libnccl; the runner says what that does not prove" OFF)

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
endif()

add_library(railwitness_flags INTERFACE)
target_compile_options(railwitness_flags INTERFACE -Wall -Wextra -Wshadow -Wconversion -Werror
  # Clang's -Wconversion has more in it than GCC's for C++; ibv_reg_mr() is a macro that mixes two enumerations.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-sign-conversion> $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-deprecated-enum-enum-conversion>)
target_include_directories(railwitness_flags INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include)
if(RAILWITNESS_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(RAILWITNESS_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
elseif(RAILWITNESS_SANITIZE)
  message(FATAL_ERROR "RAILWITNESS_SANITIZE is '${RAILWITNESS_SANITIZE}'; address or thread or nothing is meant")
endif()
if(RAILWITNESS_COVERAGE)
  add_compile_options(--coverage)
  add_link_options(--coverage)
endif()
find_package(Threads REQUIRED)
