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
# of its own making, so each is to be a call, under its own name. GCC announces neither the store of what a call returns
# nor the read of what a call is given, so that functions of the device are to be inlined, as nvcc has it. Calls go to the
# simulator at once (-fno-plt): whoever is paused in a stub between is on no line.
function(link_simulator target)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/common/gpu/include)
  target_link_libraries(${target} PRIVATE simulator)
  target_compile_options(${target} PRIVATE -g1 -fsanitize=thread -fno-plt -Wno-unknown-pragmas
                         -fno-builtin-memcpy -fno-builtin-memmove -fno-builtin-memset -U_FORTIFY_SOURCE)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -O2 -fno-tree-loop-im -fno-tree-pre -fno-tree-sra -fno-ipa-icf -fno-tree-tail-merge
                           -fno-optimize-sibling-calls --param=tsan-instrument-func-entry-exit=0 -Wno-tsan
                           -finline-functions -finline-small-functions --param=max-inline-insns-auto=1000 --param=early-inlining-insns=1000)
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

# Which GPUs code is made for, and what that takes. In what goes to another machine, code is small and CUDA's runtime one library
# that is packed once; nvcc 12.8 is the first that can make code smaller than its own default.
set(COURSE_CUDA_OPTIONS)
set(COURSE_CUDA_LINK_OPTIONS)
set(COURSE_SMALL_LINK -Wl,--exclude-libs,ALL)
if(COURSE_NVCC)
  foreach(architecture ${COURSE_CUDA_ARCHITECTURES})
    list(APPEND COURSE_CUDA_OPTIONS -gencode=arch=compute_${architecture},code=sm_${architecture})
  endforeach()
  list(GET COURSE_CUDA_ARCHITECTURES -1 latest)
  list(APPEND COURSE_CUDA_OPTIONS -gencode=arch=compute_${latest},code=compute_${latest})
  if(COURSE_PORTABLE)
    list(APPEND COURSE_CUDA_OPTIONS -cudart=shared)
    set(COURSE_CUDA_LINK_OPTIONS -Xlinker=--gc-sections,--exclude-libs,ALL)
    execute_process(COMMAND ${COURSE_NVCC} --help OUTPUT_VARIABLE help)
    if(help MATCHES "--compress-mode")
      list(APPEND COURSE_CUDA_OPTIONS --compress-mode=size)
    endif()
  endif()
endif()

# Sets RESULT to the objects that nvcc makes of CUDA sources, in the folder cuda/NAME of the build; a source that a name has
# already is not compiled again.
function(cuda_objects result name includes)
  if(COURSE_NCCL_INCLUDE)
    list(APPEND includes ${COURSE_NCCL_INCLUDE})
  endif()
  list(PREPEND includes ${CMAKE_SOURCE_DIR}/common)
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
      cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${lessons} OUTPUT_VARIABLE inside)
      string(REGEX MATCH "^[0-9]+" lesson ${inside})
      compile_answer(lesson${lesson} launcher ${source})
      set(needs compile-answer)
    endif()
    add_custom_command(
      OUTPUT ${object} DEPENDS ${source} ${needs} DEPFILE ${object}.d
      COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/cuda/${name}
      COMMAND ${launcher} ${COURSE_NVCC} -std=c++20 -O2 -Xcompiler -fPIC ${COURSE_CUDA_OPTIONS} ${includes} ${system_includes}
              -MD -MF ${object}.d -c ${source} -o ${object}
      COMMAND_EXPAND_LISTS VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  set(${result} ${objects} PARENT_SCOPE)
endfunction()

# The target NAME: the shared object lib/NAME.so of CUDA sources, an adapter among them or its object, as nvcc makes it, linked as
# add_subject() links others. It is built when it is asked for.
function(add_cuda_subject name folder)
  if(NOT COURSE_NVCC)
    return()
  endif()
  set(compiled ${ARGN})
  list(FILTER compiled INCLUDE REGEX "[.]o$")
  set(sources ${ARGN})
  list(FILTER sources EXCLUDE REGEX "[.]o$")
  cuda_objects(objects ${name} ${CMAKE_SOURCE_DIR}/${folder} ${sources})
  set(library ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/${name}.so)
  add_custom_command(
    OUTPUT ${library} DEPENDS ${compiled} ${objects} tensor
    COMMAND ${COURSE_NVCC} -shared ${COURSE_CUDA_OPTIONS} ${COURSE_CUDA_LINK_OPTIONS} -Xlinker=-Bsymbolic,--no-undefined,--as-needed -o ${library} ${compiled}
            ${objects} $<TARGET_FILE:tensor> ${MPI_CXX_LIBRARIES} $<$<BOOL:${COURSE_NCCL_LIBRARY}>:${COURSE_NCCL_LIBRARY}>
    COMMAND_EXPAND_LISTS VERBATIM)
  add_custom_target(${name} DEPENDS ${library})
endfunction()

# The target LESSON_KIND_cuda: a lesson's sources for devices. All of a lesson's share the object of its adapter.
function(add_cuda_answer lesson kind)
  recall(${lesson} folder tests)
  get_property(adapter GLOBAL PROPERTY ${lesson}.cuda_adapter)
  if(NOT adapter AND COURSE_NVCC)
    cuda_objects(adapter ${lesson}_adapter ${CMAKE_SOURCE_DIR}/lessons/${folder} ${tests}/adapter.cu)
    set_property(GLOBAL PROPERTY ${lesson}.cuda_adapter ${adapter})
  endif()
  add_cuda_subject(${lesson}_${kind}_cuda lessons/${folder} ${adapter} ${ARGN})
endfunction()

# What tests/corpus/device.tsv has of a lesson, for the simulator and for devices, is part of LESSON_packed. A handout has no such
# answers.
function(add_packed_answers lesson)
  recall(${lesson} ending)
  set(corpus ${CMAKE_SOURCE_DIR}/tests/corpus)
  if(NOT EXISTS ${corpus}/device.tsv)
    return()
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${corpus}/device.tsv)
  string(REPLACE lesson "" number ${lesson})
  file(STRINGS ${corpus}/device.tsv lines REGEX "^${number}\t")
  foreach(line ${lines})
    string(REPLACE "\t" ";" cells ${line})
    list(GET cells 1 kind)
    list(GET cells 2 id)
    set(source ${CMAKE_BINARY_DIR}/candidates/${lesson}/${kind}/${id}${ending})
    if(kind STREQUAL "corpus_right")
      set(source ${corpus}/${lesson}/right/${id}${ending})
    endif()
    add_cuda_answer(${lesson} ${kind}_${id} ${source})
    foreach(target ${lesson}_${kind}_${id} ${lesson}_${kind}_${id}_cuda)
      if(TARGET ${target})
        add_dependencies(${lesson}_packed ${target})
      endif()
    endforeach()
  endforeach()
endfunction()

# The target NAME: the program bin/NAME for devices. After the includes and whether it uses MPI and NCCL come libraries of this
# build, "--" and the CUDA sources.
function(add_cuda_program name includes mpi)
  if(NOT COURSE_NVCC OR (mpi AND NOT COURSE_NCCL_LIBRARY))
    return()
  endif()
  list(FIND ARGN -- end)
  list(SUBLIST ARGN 0 ${end} libraries)
  math(EXPR begin "${end} + 1")
  list(SUBLIST ARGN ${begin} -1 sources)
  cuda_objects(objects ${name} "${includes}" ${sources})
  set(files)
  foreach(library ${libraries} tensor)
    list(APPEND files $<TARGET_FILE:${library}>)
  endforeach()
  if(mpi)
    list(APPEND files ${MPI_CXX_LIBRARIES} ${COURSE_NCCL_LIBRARY})
  endif()
  set(program ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${name})
  add_custom_command(
    OUTPUT ${program} DEPENDS ${objects} ${libraries} tensor
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}
    COMMAND ${COURSE_NVCC} ${COURSE_CUDA_OPTIONS} ${COURSE_CUDA_LINK_OPTIONS} -Xlinker=--as-needed -o ${program} ${objects} ${files}
    COMMAND_EXPAND_LISTS VERBATIM)
  add_custom_target(${name} DEPENDS ${program})
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
