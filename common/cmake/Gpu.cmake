# CUDA sources. For the simulator they are rewritten, and compiled as C++ is; nvcc compiles them as they are.
find_program(COURSE_NVCC nvcc HINTS /usr/local/cuda/bin)
set(COURSE_CUDA_ARCHITECTURES "80;90" CACHE STRING "The GPUs whose code nvcc makes, by compute capability; and PTX for later ones")

# The sources, each CUDA source replaced by the C++ that the simulator completes.
function(simulated_sources result)
  set(sources)
  foreach(source ${ARGN})
    if(source MATCHES "[.]cu$")
      file(RELATIVE_PATH inside ${CMAKE_SOURCE_DIR} ${source})
      string(REPLACE "../" "" inside ${inside})
      set(made ${CMAKE_BINARY_DIR}/simulated/${inside}.cpp)
      add_custom_command(OUTPUT ${made} DEPENDS cuda-to-cpp ${source} COMMAND cuda-to-cpp ${source} ${made} VERBATIM)
      set(source ${made})
    endif()
    list(APPEND sources ${source})
  endforeach()
  set(${result} ${sources} PARENT_SCOPE)
endfunction()

# Links what simulated_sources() has made.
function(link_simulator target)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/common/gpu/include)
  target_link_libraries(${target} PRIVATE simulator)
endfunction()

# The target NAME: the shared object lib/NAME.so of CUDA sources and an object library, as nvcc makes it. It is built when
# it is asked for.
function(add_cuda_subject name adapter folder)
  if(NOT COURSE_NVCC)
    return()
  endif()
  set(architectures)
  foreach(architecture ${COURSE_CUDA_ARCHITECTURES})
    list(APPEND architectures -gencode=arch=compute_${architecture},code=sm_${architecture})
  endforeach()
  list(GET COURSE_CUDA_ARCHITECTURES -1 latest)
  list(APPEND architectures -gencode=arch=compute_${latest},code=compute_${latest})
  set(library ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/${name}.so)
  add_custom_command(
    OUTPUT ${library} DEPENDS ${ARGN} ${adapter} $<TARGET_OBJECTS:${adapter}> tensor
    COMMAND ${COURSE_NVCC} -std=c++20 -O2 -shared -Xcompiler -fPIC ${architectures} -I${CMAKE_SOURCE_DIR}/common
            -I${CMAKE_SOURCE_DIR}/${folder} -o ${library} ${ARGN} $<TARGET_OBJECTS:${adapter}> $<TARGET_FILE:tensor>
    COMMAND_EXPAND_LISTS VERBATIM)
  add_custom_target(${name} DEPENDS ${library})
endfunction()
