# Finds libnccl.so.2, nccl.h and the CUDA runtime's headers; no driver, compiler or GPU is needed.
#
# Looks at, in this order:
#   RAILWITNESS_NCCL_ROOT   include/nccl.h and lib/ or lib64/ with libnccl.so.2
#   RAILWITNESS_CUDA_ROOT   include/cuda.h, cuda_runtime_api.h; default: the NCCL root if it has them
#   /usr/local/cuda
#   .deps/nccl in the root of the project, which tests/cpugpu/fetch_nccl.sh fills
#
# Sets RAILWITNESS_NCCL_FOUND, and if it is true defines the imported targets
#   railwitness_nccl_headers   include directories only, as system headers
#   railwitness_nccl           the library as well
#   railwitness_cudart         the shared CUDA runtime; only where there is one
# and RAILWITNESS_NCCL_LIBRARY (path) and RAILWITNESS_NCCL_LIBRARY_DIR.  Otherwise RAILWITNESS_NCCL_MISSING says what is missing.
include_guard(GLOBAL)

set(RAILWITNESS_NCCL_ROOT "" CACHE PATH "directory with include/nccl.h and lib/libnccl.so.2 (default: /usr/local/cuda, .deps/nccl)")
set(RAILWITNESS_CUDA_ROOT "" CACHE PATH "directory with include/cuda.h and include/cuda_runtime_api.h (default: the NCCL root, /usr/local/cuda)")

get_filename_component(railwitness_nccl_deps "${CMAKE_CURRENT_LIST_DIR}/../../.deps/nccl" ABSOLUTE)
if(RAILWITNESS_NCCL_ROOT)
  set(railwitness_nccl_roots "${RAILWITNESS_NCCL_ROOT}")
else()
  set(railwitness_nccl_roots /usr/local/cuda "${railwitness_nccl_deps}")
endif()
if(RAILWITNESS_CUDA_ROOT)
  set(railwitness_cuda_roots "${RAILWITNESS_CUDA_ROOT}")
else()
  set(railwitness_cuda_roots ${railwitness_nccl_roots} /usr/local/cuda "${railwitness_nccl_deps}")
endif()

# No cached results: another root given later must win.
set(RAILWITNESS_NCCL_FOUND FALSE)
set(RAILWITNESS_NCCL_LIBRARY "")
set(RAILWITNESS_NCCL_LIBRARY_DIR "")
set(railwitness_nccl_include "")
foreach(root IN LISTS railwitness_nccl_roots)
  foreach(directory lib64 lib)
    if(NOT RAILWITNESS_NCCL_LIBRARY AND EXISTS "${root}/${directory}/libnccl.so.2" AND EXISTS "${root}/include/nccl.h")
      set(RAILWITNESS_NCCL_LIBRARY_DIR "${root}/${directory}")
      set(RAILWITNESS_NCCL_LIBRARY "${RAILWITNESS_NCCL_LIBRARY_DIR}/libnccl.so.2")
      set(railwitness_nccl_include "${root}/include")
    endif()
  endforeach()
endforeach()
set(railwitness_cuda_include "")
set(railwitness_cudart_library "")
foreach(root IN LISTS railwitness_cuda_roots)
  if(NOT railwitness_cuda_include AND EXISTS "${root}/include/cuda.h" AND EXISTS "${root}/include/cuda_runtime_api.h"
     AND EXISTS "${root}/include/crt/host_defines.h")
    set(railwitness_cuda_include "${root}/include")
    foreach(directory lib64 lib)
      if(NOT railwitness_cudart_library AND EXISTS "${root}/${directory}/libcudart.so")
        set(railwitness_cudart_library "${root}/${directory}/libcudart.so")
      endif()
    endforeach()
  endif()
endforeach()

if(NOT RAILWITNESS_NCCL_LIBRARY)
  string(JOIN ", " railwitness_nccl_searched ${railwitness_nccl_roots})
  set(RAILWITNESS_NCCL_MISSING "no lib/libnccl.so.2 with include/nccl.h in ${railwitness_nccl_searched}; tests/cpugpu/fetch_nccl.sh fetches them")
elseif(NOT railwitness_cuda_include)
  string(JOIN ", " railwitness_nccl_searched ${railwitness_cuda_roots})
  set(RAILWITNESS_NCCL_MISSING "no include/cuda.h, cuda_runtime_api.h and crt/ in ${railwitness_nccl_searched}; tests/cpugpu/fetch_nccl.sh fetches them")
else()
  set(RAILWITNESS_NCCL_FOUND TRUE)
  set(RAILWITNESS_NCCL_MISSING "")
  add_library(railwitness_nccl_headers INTERFACE IMPORTED GLOBAL)
  target_include_directories(railwitness_nccl_headers SYSTEM INTERFACE "${railwitness_nccl_include}" "${railwitness_cuda_include}")
  add_library(railwitness_nccl SHARED IMPORTED GLOBAL)
  set_target_properties(railwitness_nccl PROPERTIES IMPORTED_LOCATION "${RAILWITNESS_NCCL_LIBRARY}")
  target_link_libraries(railwitness_nccl INTERFACE railwitness_nccl_headers)
  if(railwitness_cudart_library)
    add_library(railwitness_cudart SHARED IMPORTED GLOBAL)
    set_target_properties(railwitness_cudart PROPERTIES IMPORTED_LOCATION "${railwitness_cudart_library}")
    target_link_libraries(railwitness_cudart INTERFACE railwitness_nccl_headers)
  endif()
  message(STATUS "NCCL: ${RAILWITNESS_NCCL_LIBRARY}, CUDA headers: ${railwitness_cuda_include}")
endif()
