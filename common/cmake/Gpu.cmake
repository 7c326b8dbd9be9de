# CUDA sources. For the simulator they are rewritten, and compiled as C++ is; nvcc compiles them as they are.
find_program(COURSE_NVCC nvcc HINTS /usr/local/cuda/bin)
find_path(COURSE_NCCL_INCLUDE nccl.h HINTS /usr/local/cuda/include)
find_library(COURSE_NCCL_LIBRARY nccl HINTS /usr/local/cuda/lib64)
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
      # Kernels compare threadIdx.x with ints, which nvcc lets pass, and skeletons have constants that only answers use.
      # A source's own options come last, after -Wextra.
      set_property(SOURCE ${made} APPEND PROPERTY COMPILE_OPTIONS -Wno-sign-compare -Wno-unused-const-variable)
      set(source ${made})
    endif()
    list(APPEND sources ${source})
  endforeach()
  set(${result} ${sources} PARENT_SCOPE)
endfunction()

# Links what simulated_sources() has made. The compiler calls the simulator before every access to memory, as it would
# call the thread sanitizer, which is not linked; -g1 tells it the lines. What moves accesses is left out: a load from
# before a loop looks like one that nobody wrote; what takes them apart, since a device loads a float4 at once; and what
# gives two places in the source one in the code, which would be told by the wrong line. The compiler looks at no memcpy()
# of its own making, so each is to be a call, under its own name. Calls go to the simulator at once (-fno-plt): whoever
# is paused in a stub between is on no line.
function(link_simulator target)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/common/gpu/include)
  target_link_libraries(${target} PRIVATE simulator)
  target_compile_options(${target} PRIVATE -g1 -fsanitize=thread -fno-plt -Wno-unknown-pragmas
                         -fno-builtin-memcpy -fno-builtin-memmove -fno-builtin-memset -U_FORTIFY_SOURCE)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -O2 -fno-tree-loop-im -fno-tree-pre -fno-tree-sra -fno-ipa-icf -fno-tree-tail-merge
                           -fno-optimize-sibling-calls --param=tsan-instrument-func-entry-exit=0 -Wno-tsan)
  else()
    target_compile_options(${target} PRIVATE -O1 -gdwarf-aranges)
  endif()
  target_link_options(${target} PRIVATE -Wl,--wrap=memcpy,--wrap=memmove,--wrap=memset)
endfunction()

# The target NAME: a CUDA source with a main function, run on the simulator, which says on stderr what it has found.
function(add_simulated_program name path)
  simulated_sources(source ${path})
  add_executable(${name} EXCLUDE_FROM_ALL ${source} ${CMAKE_SOURCE_DIR}/common/gpu/whole_program.cpp)
  link_simulator(${name})
endfunction()

# The target NAME: the shared object lib/NAME.so of CUDA sources, an adapter among them, as nvcc makes it, linked as
# add_subject() links others. It is built when it is asked for.
function(add_cuda_subject name folder)
  if(NOT COURSE_NVCC)
    return()
  endif()
  set(architectures)
  foreach(architecture ${COURSE_CUDA_ARCHITECTURES})
    list(APPEND architectures -gencode=arch=compute_${architecture},code=sm_${architecture})
  endforeach()
  list(GET COURSE_CUDA_ARCHITECTURES -1 latest)
  list(APPEND architectures -gencode=arch=compute_${latest},code=compute_${latest})
  set(includes ${CMAKE_SOURCE_DIR}/common ${CMAKE_SOURCE_DIR}/${folder})
  if(COURSE_NCCL_INCLUDE)
    list(APPEND includes ${COURSE_NCCL_INCLUDE})
  endif()
  list(TRANSFORM includes PREPEND -I)
  set(system_includes ${MPI_CXX_INCLUDE_DIRS})
  list(TRANSFORM system_includes PREPEND -isystem=)
  set(objects)
  foreach(source ${ARGN})
    cmake_path(GET source STEM stem)
    set(object ${CMAKE_BINARY_DIR}/cuda/${name}/${stem}.o)
    set(launcher)
    set(needs)
    set(lessons ${CMAKE_SOURCE_DIR}/lessons)
    cmake_path(IS_PREFIX lessons ${source} students)
    if(students)
      string(REGEX MATCH "^lesson[0-9]+" lesson ${name})
      compile_answer(${lesson} launcher ${source})
      set(needs compile-answer)
    endif()
    add_custom_command(
      OUTPUT ${object} DEPENDS ${source} ${needs} DEPFILE ${object}.d
      COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/cuda/${name}
      COMMAND ${launcher} ${COURSE_NVCC} -std=c++20 -O2 -Xcompiler -fPIC ${architectures} ${includes} ${system_includes}
              -MD -MF ${object}.d -c ${source} -o ${object}
      COMMAND_EXPAND_LISTS VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  set(library ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/${name}.so)
  add_custom_command(
    OUTPUT ${library} DEPENDS ${objects} tensor
    COMMAND ${COURSE_NVCC} -shared ${architectures} -Xlinker=-Bsymbolic,--no-undefined,--as-needed -o ${library} ${objects}
            $<TARGET_FILE:tensor> ${MPI_CXX_LIBRARIES} $<$<BOOL:${COURSE_NCCL_LIBRARY}>:${COURSE_NCCL_LIBRARY}>
    COMMAND_EXPAND_LISTS VERBATIM)
  add_custom_target(${name} DEPENDS ${library})
endfunction()

# The target staged_nccl: lib/staged/libnccl.so.2, which stands in for NCCL's where ranks share a device. Like NCCL's it
# brings a CUDA runtime of its own.
function(add_staged_nccl)
  if(NOT COURSE_NVCC OR NOT COURSE_NCCL_INCLUDE)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/common/gpu/staged_nccl/*.cpp)
  list(APPEND sources ${CMAKE_SOURCE_DIR}/common/gpu/nccl/meeting.cpp)
  file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/common/gpu/staged_nccl/*.hpp)
  list(TRANSFORM MPI_CXX_INCLUDE_DIRS PREPEND -isystem= OUTPUT_VARIABLE mpi_includes)
  set(folder ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/staged)
  add_custom_command(
    OUTPUT ${folder}/libnccl.so.2 DEPENDS ${sources} ${headers} ${CMAKE_SOURCE_DIR}/common/gpu/nccl/meeting.hpp
    COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
    COMMAND ${COURSE_NVCC} -shared -std=c++20 -O2 -Xcompiler -fPIC -I${CMAKE_SOURCE_DIR}/common -I${COURSE_NCCL_INCLUDE}
            ${mpi_includes} -Xlinker=-soname=libnccl.so.2,--no-undefined -o ${folder}/libnccl.so.2 ${sources} ${MPI_CXX_LIBRARIES}
    COMMAND_EXPAND_LISTS VERBATIM)
  add_custom_target(staged_nccl DEPENDS ${folder}/libnccl.so.2)
endfunction()

# The test cuda.LESSON: nvcc compiles what is right or to be done, and its kernels can be launched.
function(add_nvcc_test lesson)
  recall(${lesson} folder tests cuda_sources mpi)
  set(script ${CMAKE_SOURCE_DIR}/tests/gpu/nvcc_test.sh)
  if(NOT EXISTS ${script}) # in a handout
    return()
  endif()
  set(nvcc ${COURSE_NVCC})
  set(includes ${CMAKE_SOURCE_DIR}/common ${CMAKE_SOURCE_DIR}/lessons/${folder})
  set(system_includes)
  if(mpi)
    set(system_includes ${MPI_CXX_INCLUDE_DIRS} ${COURSE_NCCL_INCLUDE})
    list(TRANSFORM system_includes PREPEND -isystem=)
    if(NOT COURSE_NCCL_INCLUDE)
      set(nvcc COURSE_NCCL_INCLUDE-NOTFOUND)
    endif()
  endif()
  list(TRANSFORM includes PREPEND -I)
  add_test(NAME cuda.${lesson} COMMAND ${COURSE_BASH} ${script} ${nvcc} ${includes} ${system_includes} -- ${cuda_sources} ${tests}/adapter.cu)
  set_tests_properties(cuda.${lesson} PROPERTIES LABELS "${lesson};cuda;slow" TIMEOUT 300 PROCESSORS 2 SKIP_RETURN_CODE 77)
endfunction()
