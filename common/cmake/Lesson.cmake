# Builds and tests every lesson of lessons/registry.json. For lesson 05:
#   judge_lesson05                the judge, from tests/05_*/judge.cpp; unchanged by a student's edit
#   lesson05_student.so           the student's files        tests lesson05.2.ranks3 ...
#   lesson05_drill.so             .course/drill/05_*, what ./course drill lets the student write from an empty body, and the
#                                 lesson's other functions, solved, in its neighbours/
#   lesson05_solution.so          solutions/05_*             tests solution.lesson05.2.ranks3 ...
#   lesson05_skeleton.so          cut from the solution      test  skeleton.lesson05
#   lesson05_mutant_ID.so         tests/05_*/mistakes.md     test  mutant.lesson05.ID
#   lesson05_variant_ID.so        tests/05_*/variants.md     test  variant.lesson05.ID
#   lesson05_combination_A_and_B.so      mistakes.md         test  combination.lesson05.A+B
#   lesson05_answer_ID.so         tests/ledger/answers/05_*  test  answer.lesson05.ID
#   lesson05_corpus_right_ID.so          tests/corpus        test  corpus.lesson05.right.ID; and wrong for right
#   lesson04_eigen_maps.so        the variant eigen_maps with a student's options, for ./course bench
#   bin/PROGRAM                   lessons/05_*/PROGRAM.cpp   test  program.lesson05.PROGRAM, of lessons on one rank
# Candidates.cmake has what tests solutions, skeletons, mutants, variants, combinations, answers and the corpus.
# A handout has no solution of a lesson until it is released, no variants, and no edits in mistakes.md: what follows from
# them is then left out, and the skeleton is the kept copy in skeletons/05_*.
# The target lesson05_tests builds what these tests need, and course_tests what every test of the course needs.

set(COURSE_REGISTRY ${CMAKE_SOURCE_DIR}/lessons/registry.json)
# A second compiler, which looks for warnings, learns nothing from mistakes, whose warnings are off.
option(COURSE_MISTAKES "Build mutants and combinations with the tests" ON)
add_custom_target(course_tests)

include(Candidates)
include(Gpu)
include(Python)

# Makes course_tests build every target of a folder and of those below it.
function(add_to_course_tests folder)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  if(targets)
    add_dependencies(course_tests ${targets})
  endif()
  get_property(below DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(inner ${below})
    add_to_course_tests(${inner})
  endforeach()
endfunction()

function(add_lessons registry)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${registry})
  file(READ ${registry} text)
  string(JSON count LENGTH "${text}" lessons)
  math(EXPR last "${count} - 1")
  foreach(i RANGE ${last})
    string(JSON json GET "${text}" lessons ${i})
    add_lesson("${json}")
  endforeach()
endfunction()

function(add_lesson json)
  string(JSON id GET "${json}" id)
  string(JSON name GET "${json}" name)
  set(lesson lesson${id})
  set(folder ${id}_${name})
  set(tests ${CMAKE_SOURCE_DIR}/tests/${folder})
  strings_of("${json}" needs needs)
  strings_of("${json}" files files)
  strings_of("${json}" programs programs)
  if(NOT EXISTS ${tests}/judge.cpp)
    return()
  endif()
  if(COURSE_SANITIZE AND "gpu" IN_LIST needs)
    return() # the simulator's threads change stacks, of which no sanitizer is told
  endif()
  if("gpu" IN_LIST needs AND NOT COURSE_SIMULATOR)
    message(WARNING "lesson ${id} is left out: Boost.Context or libdw (elfutils) was not found, which the simulated GPU needs")
    return()
  endif()
  remember_lesson(${lesson} "${folder}" "${needs}" "${json}")

  add_adapter(${lesson})
  list(TRANSFORM files PREPEND ${CMAKE_SOURCE_DIR}/lessons/${folder}/ OUTPUT_VARIABLE student)
  if(COURSE_SANITIZE AND needs)
    # What `./course check NN --sanitize` plays. The course's own tests play ranks without sanitizers.
    set_source_files_properties(${student} PROPERTIES GENERATED TRUE)
    add_subject(${lesson} student ${student})
    set_target_properties(${lesson}_student PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  add_judge(${lesson})
  list(TRANSFORM files PREPEND ${CMAKE_SOURCE_DIR}/.course/drill/${folder}/ OUTPUT_VARIABLE drill)
  list(TRANSFORM files PREPEND ${CMAKE_SOURCE_DIR}/.course/drill/${folder}/neighbours/ OUTPUT_VARIABLE neighbours)
  list(TRANSFORM files PREPEND ${CMAKE_SOURCE_DIR}/solutions/${folder}/ OUTPUT_VARIABLE solution)
  # A file that the student has moved away fails its own build, not everybody's configuration.
  set_source_files_properties(${student} ${drill} ${neighbours} PROPERTIES GENERATED TRUE)
  add_subject(${lesson} student ${student})
  if("gpu" IN_LIST needs)
    foreach(kind student solution)
      add_cuda_answer(${lesson} ${kind} ${${kind}})
    endforeach()
    add_custom_target(${lesson}_packed) # what ./course pack takes along of it besides
  endif()
  add_subject(${lesson} drill ${drill} ${neighbours})
  set_target_properties(${lesson}_drill PROPERTIES EXCLUDE_FROM_ALL ON)
  # A student may write a neighbour, too, or have a helper of the same name: the first definition, the student's, is taken.
  target_link_options(${lesson}_drill PRIVATE -Wl,-z,muldefs)
  file(GLOB given_out CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/solutions/${folder}/*.cpp
       ${CMAKE_SOURCE_DIR}/solutions/${folder}/*.cu)
  if(NOT given_out)
    set(solution)
  endif()

  add_student_tests(${lesson})
  add_skeleton(${lesson} ${files})
  if(solution)
    add_solution(${lesson} ${solution})
    add_mistakes_and_variants(${lesson} ${solution})
    if(TARGET ${lesson}_variant_eigen_maps)
      add_subject(${lesson} eigen_maps ${CMAKE_BINARY_DIR}/candidates/${lesson}/variant/eigen_maps.cpp)
      set_target_properties(${lesson}_eigen_maps PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
    add_answers(${lesson})
    add_corpus(${lesson})
    add_python_tests(${lesson} ${name})
  endif()
  play_candidates(${lesson})
  record_forms(${lesson})
  if("gpu" IN_LIST needs)
    if(solution)
      add_packed_answers(${lesson})
    endif()
    add_nvcc_test(${lesson})
  endif()
  foreach(program ${programs})
    add_lesson_program(${lesson} ${name} ${program} "${student}" "${solution}")
  endforeach()
endfunction()

# The strings of an array in the registry.
function(strings_of json field result)
  set(strings)
  string(JSON count LENGTH "${json}" ${field})
  while(count GREATER 0)
    math(EXPR count "${count} - 1")
    string(JSON string GET "${json}" ${field} ${count})
    list(PREPEND strings ${string})
  endwhile()
  set(${result} ${strings} PARENT_SCOPE)
endfunction()

# What functions want to know of a lesson: folder (05_ring_attention), needs, tests (where its judge is), mpi and gpu (ON or
# OFF), ending (of its files: .cpp or .cu), json (its entry in the registry), player.
function(remember_lesson lesson folder needs json)
  set(mpi OFF)
  set(gpu OFF)
  set(ending .cpp)
  set(player player_solo)
  if("mpi" IN_LIST needs)
    set(mpi ON)
    set(player player_mpi)
  endif()
  if("gpu" IN_LIST needs)
    set(gpu ON)
    set(ending .cu)
    set(player player_gpu)
    if(mpi)
      string(APPEND player _mpi)
    endif()
  endif()
  set(tests ${CMAKE_SOURCE_DIR}/tests/${folder})
  foreach(fact folder needs tests mpi gpu ending json player)
    set_property(GLOBAL PROPERTY ${lesson}.${fact} "${${fact}}")
  endforeach()
endfunction()

# Sets variables of those names to what is remembered of the lesson.
function(recall lesson)
  foreach(fact ${ARGN})
    get_property(value GLOBAL PROPERTY ${lesson}.${fact})
    set(${fact} "${value}" PARENT_SCOPE)
  endforeach()
endfunction()

# What every subject of the lesson links.
function(add_adapter lesson)
  recall(${lesson} tests gpu ending)
  simulated_sources(adapter ${tests}/adapter${ending})
  add_library(${lesson}_adapter OBJECT ${adapter})
  if(gpu)
    link_simulator(${lesson}_adapter)
  endif()
  lesson_settings(${lesson}_adapter ${lesson})
endfunction()

# The judge and the target LESSON_tests.
function(add_judge lesson)
  recall(${lesson} tests player)
  add_library(judge_${lesson}_public OBJECT ${tests}/judge.cpp)
  add_executable(judge_${lesson})
  target_link_libraries(judge_${lesson} PRIVATE judge_${lesson}_public)
  target_link_libraries(judge_${lesson}_public PUBLIC judge)
  link_attention_where_used(judge_${lesson}_public ${tests})
  compile_softmax_along(judge_${lesson}_public ${tests}/judge.cpp "")
  if(EXISTS ${tests}/hidden.cpp) # inputs that only a grade plays
    target_sources(judge_${lesson} PRIVATE ${tests}/hidden.cpp)
    compile_softmax_along(judge_${lesson} ${tests}/hidden.cpp hidden/)
    get_target_property(linked judge_${lesson}_public LINK_LIBRARIES)
    if("judge_attention" IN_LIST linked)
      target_link_libraries(judge_${lesson} PRIVATE judge_hidden)
    endif()
  endif()
  add_custom_target(${lesson}_tests DEPENDS judge_${lesson} player_solo player_mpi ${player})
  add_dependencies(course_tests ${lesson}_tests)
endfunction()

# Links what a judge of attention needs, which takes long to build, if the judge includes any of it.
function(link_attention_where_used target tests)
  file(GLOB sources ${tests}/*.cpp ${tests}/*.hpp)
  foreach(file ${sources})
    file(STRINGS ${file} includes REGEX "#include \"(reference/reference.hpp|judge/(attention|layer|training)/)")
    if(includes)
      target_link_libraries(${target} PUBLIC judge_attention)
      break()
    endif()
  endforeach()
endfunction()

# Compiles the families of softmax that a file includes, or what they hide, in one piece with it, where it includes any:
# most of the time goes into headers, and a first build need not wait for another lesson's family.
function(compile_softmax_along target file folder)
  file(STRINGS ${file} includes REGEX "#include \"judge/softmax/")
  foreach(include ${includes})
    string(REGEX REPLACE ".*/(.*)[.]hpp\"" "\\1" family "${include}")
    target_sources(${target} PRIVATE ${CMAKE_SOURCE_DIR}/common/judge/softmax/${folder}${family}.cpp)
    target_compile_options(${target} PRIVATE -O1)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON)
  endforeach()
endfunction()

function(lesson_settings target lesson)
  recall(${lesson} folder mpi gpu)
  target_link_libraries(${target} PRIVATE course_flags linear_algebra Eigen3::Eigen)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/lessons/${folder})
  target_compile_definitions(${target} PRIVATE COURSE_CHECK_BOUNDS)
  if(mpi)
    target_link_libraries(${target} PRIVATE MPI::MPI_CXX)
  endif()
  if(mpi AND gpu)
    target_link_libraries(${target} PRIVATE simulated_nccl)
  endif()
endfunction()

# The target LESSON_KIND: a shared object of the given sources and the lesson's adapter, loadable by a player.
function(add_subject lesson kind)
  set(target ${lesson}_${kind})
  recall(${lesson} gpu)
  simulated_sources(sources ${ARGN})
  add_library(${target} MODULE ${sources})
  if(gpu)
    if(kind MATCHES "^(solution|skeleton|variant_.*)$")
      set_property(GLOBAL APPEND PROPERTY ${lesson}.cuda_sources ${ARGN})
    endif()
    link_simulator(${target})
  endif()
  set_target_properties(${target} PROPERTIES PREFIX "")
  # A skeleton uses none of its parameters yet. A source's own options come last, after -Wextra.
  set_property(SOURCE ${sources} APPEND PROPERTY COMPILE_OPTIONS -Wno-unused-parameter)
  lesson_settings(${target} ${lesson})
  target_link_libraries(${target} PRIVATE ${lesson}_adapter tensor)
  # Its own definitions before the player's: both hold inline functions of common/, with and without bounds checks.
  target_link_options(${target} PRIVATE -Wl,-Bsymbolic)
  if(COURSE_PORTABLE)
    target_link_options(${target} PRIVATE ${COURSE_SMALL_LINK}) # what it does not use of a library of the course's own
  endif()
  if(NOT COURSE_SANITIZE)
    # A function that is missing or misspelt is a link error with its name, not a failure at load time.
    target_link_options(${target} PRIVATE -Wl,--no-undefined)
  endif()
  if(kind MATCHES "^(student|drill)$")
    compile_answer(${lesson} launcher ${ARGN})
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "${launcher}")
    add_dependencies(${target} compile-answer)
  endif()
  options_of(${kind} options)
  target_compile_options(${target} PRIVATE ${options})
  if(kind MATCHES "^(mutant|unnamed|combination|variant|answer|corpus)_")
    target_link_options(${target} PRIVATE ${COURSE_QUICK_LINKER})
  endif()
  if(kind MATCHES "^(mutant|unnamed|combination|variant|corpus)_")
    precompile_headers(${target} ${lesson} "${options}")
  endif()
endfunction()

# The words before a compiler's command that has it compile these files of an answer as a grade would: without includes and
# names that a grade refuses.
function(compile_answer lesson result)
  recall(${lesson} folder needs)
  string(JOIN , needed ${needs})
  if(NOT needed)
    set(needed none)
  endif()
  set(${result} ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/compile-answer ${CMAKE_SOURCE_DIR} ${folder} ${needed} ${ARGN} --
      PARENT_SCOPE)
endfunction()

# What a subject of that kind is compiled with beside the course's flags.
function(options_of kind result)
  set(options)
  if(kind MATCHES "^(student|drill|solution|eigen_maps|variant_.*|recorded_.*)$") # all that is graded as right, as it is graded
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # Else -O2 leaves a plain loop over a row as it is, one number at a time, which clang++ does not.
      set(options -fvect-cost-model=dynamic)
    endif()
  else()
    # Speed is not the point of mistakes; compiling them all is. Eigen without vectors takes a sixth less to compile, and -O1 no
    # longer than -O0, whose code is far slower.
    set(options -O1 -DEIGEN_DONT_VECTORIZE)
  endif()
  if(kind MATCHES "^(mutant|unnamed|combination|answer|recorded|corpus)_")
    list(APPEND options -w) # a mistake often leaves something unused, and an old answer may displease a new compiler
    if(COURSE_SANITIZE)
      list(APPEND options -fno-sanitize=all) # the judge that names them is what the sanitizers look at
    endif()
  endif()
  set(${result} ${options} PARENT_SCOPE)
endfunction()

# Lets a subject take the headers precompiled that answers include: reading them takes longer than compiling an answer.
# They are compiled once for each set of options. A student's file, a skeleton and a solution do without, so that an
# include that is missing is missed here as well as where the file is graded.
function(precompile_headers subject lesson options)
  recall(${lesson} mpi gpu)
  set(headers <algorithm> <array> <cmath> <functional> <limits> <numeric> <span> <stdexcept> <string> <vector>)
  set(name "headers${options}")
  if(gpu)
    list(APPEND headers <cuda_runtime.h>)
    string(APPEND name "_gpu")
  endif()
  if(mpi)
    list(APPEND headers <mpi.h>)
    string(APPEND name "_mpi")
  endif()
  string(MAKE_C_IDENTIFIER "${name}" precompiled)
  if(NOT TARGET ${precompiled})
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${precompiled}.cpp CONTENT "")
    add_library(${precompiled} OBJECT ${CMAKE_BINARY_DIR}/${precompiled}.cpp)
    if(gpu)
      link_simulator(${precompiled})
    endif()
    lesson_settings(${precompiled} ${lesson})
    target_compile_options(${precompiled} PRIVATE ${options})
    target_precompile_headers(${precompiled} PRIVATE ${headers})
  endif()
  target_precompile_headers(${subject} REUSE_FROM ${precompiled})
endfunction()

# A program beside a lesson's text, such as lessons/02_*/lse_form.cpp. One that calls the lesson's functions is built
# from the student's file, and for the course's own tests from the solution, as lse_form_solution.
function(add_lesson_program lesson name file student solution)
  recall(${lesson} folder mpi)
  set(path ${CMAKE_SOURCE_DIR}/lessons/${folder}/${file})
  cmake_path(GET path STEM program)
  if(file MATCHES "[.]cu$")
    add_simulated_program(${program} ${path})
    lesson_settings(${program} ${lesson})
    add_dependencies(${lesson}_tests ${program})
    add_program_test(${lesson} ${program})
    return()
  endif()
  file(STRINGS ${path} calls_lesson REGEX "#include \"${name}.hpp\"")
  if(calls_lesson)
    add_executable(${program} EXCLUDE_FROM_ALL ${path} ${student})
    program_settings(${program} ${lesson})
    if(NOT solution)
      return()
    endif()
    string(APPEND program _solution)
    add_executable(${program} EXCLUDE_FROM_ALL ${path} ${solution})
  else()
    add_executable(${program} EXCLUDE_FROM_ALL ${path})
  endif()
  program_settings(${program} ${lesson})
  add_dependencies(${lesson}_tests ${program})
  if(NOT mpi) # those measure how long ranks wait, and take as long
    add_program_test(${lesson} ${program})
  endif()
endfunction()

# What a lesson's own program links: on ranks it may compute with layouts and with the player's blocks.
function(program_settings program lesson)
  recall(${lesson} mpi)
  lesson_settings(${program} ${lesson})
  if(mpi)
    target_link_libraries(${program} PRIVATE ring softmax_reference)
  endif()
endfunction()

function(add_program_test lesson program)
  add_test(NAME program.${lesson}.${program} COMMAND ${program})
  set_tests_properties(program.${lesson}.${program} PROPERTIES LABELS "${lesson};course" TIMEOUT 120)
endfunction()

# One test a task and world size for the student's files. Their compile is a fixture, so that a file that does not
# compile fails its own tests and stops nothing else.
function(add_student_tests lesson)
  recall(${lesson} mpi player)
  add_custom_target(${lesson}_check DEPENDS ${lesson}_student judge_${lesson} player_solo ${player})
  add_test(NAME ${lesson}.build COMMAND ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target ${lesson}_check)
  set_tests_properties(${lesson}.build PROPERTIES FIXTURES_SETUP ${lesson} LABELS "${lesson};student"
                       RESOURCE_LOCK ninja)
  set_target_properties(${lesson}_student ${lesson}_check PROPERTIES EXCLUDE_FROM_ALL ON)
  graded_tests_of(${lesson} tests)
  foreach(test ${tests})
    add_test(NAME ${lesson}.${test}
             COMMAND judge_${lesson} --registry ${COURSE_REGISTRY} --player $<TARGET_FILE:${player}>
                     --subject $<TARGET_FILE:${lesson}_student> --gtest_filter=${lesson}.${test})
    set_tests_properties(${lesson}.${test} PROPERTIES FIXTURES_REQUIRED ${lesson} TIMEOUT 300 LABELS "${lesson};student")
    if(mpi) # these use both cores of a small machine
      set_tests_properties(${lesson}.${test} PROPERTIES PROCESSORS 2 LABELS "${lesson};mpi;student")
    endif()
  endforeach()
endfunction()

# The names of the lesson's graded tests: "2" for a task on one rank, "2.ranks3" for each of its world sizes otherwise.
function(graded_tests_of lesson result)
  recall(${lesson} json)
  set(tests)
  string(JSON task_count LENGTH "${json}" tasks)
  math(EXPR last_task "${task_count} - 1")
  foreach(t RANGE ${last_task})
    string(JSON task GET "${json}" tasks ${t} id)
    string(JSON rank_count LENGTH "${json}" tasks ${t} ranks)
    if(rank_count EQUAL 0)
      list(APPEND tests ${task})
    else()
      math(EXPR last_rank "${rank_count} - 1")
      foreach(r RANGE ${last_rank})
        string(JSON ranks GET "${json}" tasks ${t} ranks ${r})
        list(APPEND tests ${task}.ranks${ranks})
      endforeach()
    endif()
  endforeach()
  set(${result} ${tests} PARENT_SCOPE)
endfunction()
