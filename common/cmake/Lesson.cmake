# Builds and tests every lesson of lessons/registry.json. For lesson 05:
#   judge_lesson05                the judge, from tests/05_*/judge.cpp; unchanged by a student's edit
#   lesson05_student.so           the student's files        tests lesson05.2.ranks3 ...
#   lesson05_solution.so          solutions/05_*             tests solution.lesson05.2.ranks3 ...
#   lesson05_skeleton.so          cut from the solution      test  skeleton.lesson05
#   lesson05_mutant_ID.so         tests/05_*/mutants/ID.*    test  mutant.lesson05.ID
#   lesson05_variant_ID.so        tests/05_*/variants/ID.*   test  variant.lesson05.ID
#   lesson05_combination_ID.so    tests/05_*/combinations/*  test  combination.lesson05.ID
# Mutants, variants and the solution are tested once more with many seeds: seeds.mutant.lesson05.ID (label seeds).
# The target lesson05_tests builds what these tests need, and course_tests what every test of the course needs.
# A mutant, variant or combination is a whole file (ID.cpp) or, where it differs in a few lines, a patch of the
# solution (ID.patch). A combination's ID is the ids of its mistakes joined by "+".

set(COURSE_REGISTRY ${CMAKE_SOURCE_DIR}/lessons/registry.json)
set(COURSE_SEEDS 8 CACHE STRING "How many seeds the tests with the label seeds draw inputs with")
add_custom_target(course_tests)

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
    string(JSON lesson GET "${text}" lessons ${i})
    add_lesson("${lesson}")
  endforeach()
endfunction()

function(add_lesson json)
  string(JSON id GET "${json}" id)
  string(JSON name GET "${json}" name)
  string(JSON needs GET "${json}" needs)
  set(lesson lesson${id})
  set(folder ${id}_${name})
  set(tests ${CMAKE_SOURCE_DIR}/tests/${folder})
  set(solution ${CMAKE_SOURCE_DIR}/solutions/${folder})
  set(mpi OFF)
  if(needs MATCHES "mpi")
    set(mpi ON)
  endif()
  if(COURSE_SANITIZE AND mpi)
    return() # Open MPI itself is not built for sanitizers
  endif()
  lesson_files("${json}" files)
  if(NOT EXISTS ${tests}/judge.cpp)
    return()
  endif()

  set(adapter ${tests}/adapter.cpp)
  if(EXISTS ${tests}/demo_entry.cpp)
    list(APPEND adapter ${tests}/demo_entry.cpp) # how ./course demo calls this lesson
  endif()
  add_library(${lesson}_adapter OBJECT ${adapter})
  lesson_settings(${lesson}_adapter ${folder} ${mpi})
  add_executable(judge_${lesson} ${tests}/judge.cpp)
  target_link_libraries(judge_${lesson} PRIVATE judge)
  add_custom_target(${lesson}_tests DEPENDS judge_${lesson} player_solo player_mpi)
  add_dependencies(course_tests ${lesson}_tests)

  list(TRANSFORM files PREPEND ${CMAKE_SOURCE_DIR}/lessons/${folder}/ OUTPUT_VARIABLE student)
  # A file that the student has moved away fails its own build, not everybody's configuration.
  set_source_files_properties(${student} PROPERTIES GENERATED TRUE)
  add_subject(student "${student}")
  list(TRANSFORM files PREPEND ${solution}/ OUTPUT_VARIABLE solved)
  add_subject(solution "${solved}")
  add_skeleton()
  add_graded_tests("${json}")
  foreach(kind mutant variant combination)
    add_judged_files(${kind})
  endforeach()
endfunction()

function(lesson_files json result)
  string(JSON count LENGTH "${json}" files)
  math(EXPR last "${count} - 1")
  foreach(i RANGE ${last})
    string(JSON file GET "${json}" files ${i})
    list(APPEND files ${file})
  endforeach()
  set(${result} ${files} PARENT_SCOPE)
endfunction()

function(lesson_settings target folder mpi)
  target_link_libraries(${target} PRIVATE course_flags)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/lessons/${folder})
  target_include_directories(${target} SYSTEM PRIVATE ${EIGEN3_INCLUDE_DIRS})
  target_compile_definitions(${target} PRIVATE COURSE_CHECK_BOUNDS)
  if(mpi)
    target_link_libraries(${target} PRIVATE MPI::MPI_CXX)
  endif()
endfunction()

# A shared object of the given sources and the lesson's adapter, loadable by a player.
macro(add_subject kind sources)
  add_library(${lesson}_${kind} MODULE ${sources})
  set_target_properties(${lesson}_${kind} PROPERTIES PREFIX "")
  # A skeleton uses none of its parameters yet. A source's own options come last, after -Wextra.
  set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS -Wno-unused-parameter)
  lesson_settings(${lesson}_${kind} ${folder} ${mpi})
  target_link_libraries(${lesson}_${kind} PRIVATE ${lesson}_adapter tensor)
  # Its own definitions before the player's: both hold inline functions of common/, with and without bounds checks.
  target_link_options(${lesson}_${kind} PRIVATE -Wl,-Bsymbolic)
  if(NOT COURSE_SANITIZE)
    # A function that is missing or misspelt is a link error with its name, not a failure at load time.
    target_link_options(${lesson}_${kind} PRIVATE -Wl,--no-undefined)
  endif()
  if(NOT "${kind}" MATCHES "^(student|solution)$")
    target_compile_options(${lesson}_${kind} PRIVATE -O0) # speed is not their point; compiling them all is
  endif()
  if(NOT "${kind}" STREQUAL "student")
    add_dependencies(${lesson}_tests ${lesson}_${kind})
  endif()
  if("${kind}" MATCHES "^(mutant|combination)_")
    target_compile_options(${lesson}_${kind} PRIVATE -w) # a mistake often leaves something unused
  endif()
endmacro()

macro(judge_command)
  set(player $<TARGET_FILE:player_solo>)
  if(mpi)
    set(player $<TARGET_FILE:player_mpi>)
  endif()
  set(judge $<TARGET_FILE:judge_${lesson}> --registry ${COURSE_REGISTRY} --player ${player})
endmacro()

# Adds a ctest test that starts the judge. MPI tests use both cores of a small machine.
macro(add_judge_test name subject labels)
  add_test(NAME ${name} COMMAND ${judge} --subject $<TARGET_FILE:${lesson}_${subject}> ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT 300)
  if(mpi)
    set_tests_properties(${name} PROPERTIES PROCESSORS 2)
  endif()
endmacro()

# The same with many seeds.
macro(add_seeds_test name subject)
  add_judge_test(seeds.${name} ${subject} "${lesson};seeds" ${ARGN} --seeds ${COURSE_SEEDS})
  set_tests_properties(seeds.${name} PROPERTIES TIMEOUT 1200)
endmacro()

# One test a task and world size, for the student's files and for the solution. The student's compile is a fixture,
# so that a file that does not compile fails its own tests and stops nothing else.
macro(add_graded_tests json)
  judge_command()
  add_test(NAME ${lesson}.build COMMAND ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target ${lesson}_check)
  add_custom_target(${lesson}_check DEPENDS ${lesson}_student judge_${lesson} player_solo)
  set_tests_properties(${lesson}.build PROPERTIES FIXTURES_SETUP ${lesson} LABELS "${lesson};student"
                       RESOURCE_LOCK ninja)
  set(labels ${lesson})
  if(mpi)
    add_dependencies(${lesson}_check player_mpi)
    list(APPEND labels mpi)
  endif()
  set_target_properties(${lesson}_student ${lesson}_check PROPERTIES EXCLUDE_FROM_ALL ON)
  add_seeds_test(solution.${lesson} solution --expect pass)
  string(JSON task_count LENGTH "${json}" tasks)
  math(EXPR last_task "${task_count} - 1")
  foreach(t RANGE ${last_task})
    string(JSON task GET "${json}" tasks ${t} id)
    string(JSON rank_count LENGTH "${json}" tasks ${t} ranks)
    if(rank_count EQUAL 0)
      add_graded_test(${task})
    else()
      math(EXPR last_rank "${rank_count} - 1")
      foreach(r RANGE ${last_rank})
        string(JSON ranks GET "${json}" tasks ${t} ranks ${r})
        add_graded_test(${task}.ranks${ranks})
      endforeach()
    endif()
  endforeach()
endmacro()

macro(add_graded_test test)
  set(full_name ${lesson}.${test})
  add_judge_test(${full_name} student "${labels};student" --gtest_filter=${full_name})
  set_tests_properties(${full_name} PROPERTIES FIXTURES_REQUIRED ${lesson})
  add_judge_test(solution.${full_name} solution "${labels};solution" --gtest_filter=${full_name})
endmacro()

# The skeleton as the solution's marked regions give it, so that this test reads nothing that a student edits.
macro(add_skeleton)
  set(skeleton)
  foreach(file ${files})
    set(cut ${CMAKE_BINARY_DIR}/skeletons/${folder}/${file})
    add_custom_command(OUTPUT ${cut} DEPENDS cut-skeleton ${solution}/${file}
                       COMMAND cut-skeleton ${solution}/${file} ${cut} VERBATIM)
    list(APPEND skeleton ${cut})
  endforeach()
  judge_command()
  add_subject(skeleton "${skeleton}")
  add_judge_test(skeleton.${lesson} skeleton "${lesson};course" --expect todo)
endmacro()

# How a mistake is told, as the registry says: "answer", "instrument", or "" for what is no mistake.
function(told_by json id result)
  set(${result} "" PARENT_SCOPE)
  string(JSON count LENGTH "${json}" mistakes)
  math(EXPR last "${count} - 1")
  foreach(i RANGE ${last})
    string(JSON known GET "${json}" mistakes ${i} id)
    if(known STREQUAL id)
      string(JSON by GET "${json}" mistakes ${i} by)
      set(${result} ${by} PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

macro(add_judged_files kind)
  file(GLOB found CONFIGURE_DEPENDS ${tests}/${kind}s/*.cpp ${tests}/${kind}s/*.patch)
  foreach(path ${found})
    cmake_path(GET path STEM LAST_ONLY stem)
    told_by("${json}" ${stem} by)
    if(COURSE_SANITIZE AND by STREQUAL "instrument")
      continue() # memory is not measured under a sanitizer, whose own bookkeeping would be counted
    endif()
    set(source ${path})
    if(path MATCHES "\\.patch$")
      list(GET files 0 patched)
      set(source ${CMAKE_BINARY_DIR}/patched/${lesson}/${kind}/${stem}.cpp)
      add_custom_command(OUTPUT ${source} DEPENDS ${path} ${solution}/${patched}
                         COMMAND patch --quiet --output ${source} ${solution}/${patched} ${path} VERBATIM)
    endif()
    string(REPLACE "+" "_and_" target ${stem})
    add_subject(${kind}_${target} ${source})
    if(kind STREQUAL "mutant")
      set(expected mistake:${stem})
    elseif(kind STREQUAL "variant")
      set(expected pass)
    else()
      string(REPLACE "+" "," expected mistakes:${stem})
    endif()
    add_judge_test(${kind}.${lesson}.${stem} ${kind}_${target} "${lesson};course;${kind}" --expect ${expected})
    add_seeds_test(${kind}.${lesson}.${stem} ${kind}_${target} --expect ${expected})
  endforeach()
endmacro()
