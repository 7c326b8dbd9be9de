# Builds and tests every lesson of lessons/registry.json. For lesson 05:
#   judge_lesson05                the judge, from tests/05_*/judge.cpp; unchanged by a student's edit
#   lesson05_student.so           the student's files        tests lesson05.2.ranks3 ...
#   lesson05_drill.so             .course/drill/05_*, what ./course drill lets the student write from an empty body
#   lesson05_solution.so          solutions/05_*             tests solution.lesson05.2.ranks3 ...
#   lesson05_skeleton.so          cut from the solution      test  skeleton.lesson05
#   lesson05_mutant_ID.so         tests/05_*/mutants/ID.*    test  mutant.lesson05.ID
#   lesson05_variant_ID.so        tests/05_*/variants/ID.*   test  variant.lesson05.ID
#   lesson05_combination_ID.so    tests/05_*/combinations/*  test  combination.lesson05.ID
#   lesson05_eigen_maps.so        tests/05_*/variants/eigen_maps.cpp with a student's options, for ./course bench
#   bin/PROGRAM                   lessons/05_*/PROGRAM.cpp   test  program.lesson05.PROGRAM, of lessons on one rank
# Mutants, variants and the solution are tested once more with many seeds: seeds.mutant.lesson05.ID (label seeds).
# A handout has no solution of a lesson until it is released, and no mutants, variants and combinations: what follows
# from them is then left out, and the skeleton is the kept copy in skeletons/05_*.
# The target lesson05_tests builds what these tests need, and course_tests what every test of the course needs.
# A mutant, variant or combination is a whole file (ID.cpp) or, where it differs in a few lines, a patch of the
# solution (ID.patch). A combination's ID is the ids of its mistakes joined by "+".

include(Python)

set(COURSE_REGISTRY ${CMAKE_SOURCE_DIR}/lessons/registry.json)
set(COURSE_SEEDS 200 CACHE STRING "With how many seeds the tests with the label seeds draw their inputs")
# A second compiler learns nothing from them: their warnings are off.
option(COURSE_MISTAKES "Build mutants and combinations with the tests" ON)
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
  strings_of("${json}" files files)
  strings_of("${json}" programs programs)
  if(NOT EXISTS ${tests}/judge.cpp)
    return()
  endif()

  set(adapter ${tests}/adapter.cpp)
  foreach(entry demo_entry bench_entry) # how ./course demo and ./course bench call this lesson
    if(EXISTS ${tests}/${entry}.cpp)
      list(APPEND adapter ${tests}/${entry}.cpp)
    endif()
  endforeach()
  add_library(${lesson}_adapter OBJECT ${adapter})
  lesson_settings(${lesson}_adapter ${folder} ${mpi})
  add_library(judge_${lesson}_public OBJECT ${tests}/judge.cpp)
  add_executable(judge_${lesson})
  target_link_libraries(judge_${lesson} PRIVATE judge_${lesson}_public)
  if(EXISTS ${tests}/hidden.cpp)
    target_sources(judge_${lesson} PRIVATE ${tests}/hidden.cpp) # inputs that only a grade plays
  endif()
  target_link_libraries(judge_${lesson}_public PUBLIC judge)
  target_include_directories(judge_${lesson}_public SYSTEM PUBLIC ${EIGEN3_INCLUDE_DIRS})
  add_custom_target(${lesson}_tests DEPENDS judge_${lesson} player_solo player_mpi)
  add_dependencies(course_tests ${lesson}_tests)

  list(TRANSFORM files PREPEND ${CMAKE_SOURCE_DIR}/lessons/${folder}/ OUTPUT_VARIABLE student)
  list(TRANSFORM files PREPEND ${CMAKE_SOURCE_DIR}/.course/drill/${folder}/ OUTPUT_VARIABLE drill)
  # A file that the student has moved away fails its own build, not everybody's configuration.
  set_source_files_properties(${student} ${drill} PROPERTIES GENERATED TRUE)
  add_subject(student "${student}")
  add_subject(drill "${drill}")
  set_target_properties(${lesson}_drill PROPERTIES EXCLUDE_FROM_ALL ON)
  if(EXISTS ${tests}/variants/eigen_maps.cpp)
    add_subject(eigen_maps ${tests}/variants/eigen_maps.cpp)
    set_target_properties(${lesson}_eigen_maps PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  file(GLOB given_out CONFIGURE_DEPENDS ${solution}/*.cpp)
  if(given_out)
    list(TRANSFORM files PREPEND ${solution}/ OUTPUT_VARIABLE solved)
    add_subject(solution "${solved}")
  endif()
  add_skeleton()
  add_graded_tests("${json}")
  if(given_out)
    foreach(kind mutant variant combination)
      add_judged_files(${kind})
    endforeach()
    add_python_tests()
  endif()
  add_lesson_programs()
endfunction()

# The programs beside a lesson's text, such as lessons/02_*/lse_form.cpp. One that calls the lesson's functions is built
# from the student's file, and for the course's own tests from the solution, as lse_form_solution.
macro(add_lesson_programs)
  foreach(file ${programs})
    set(path ${CMAKE_SOURCE_DIR}/lessons/${folder}/${file})
    cmake_path(GET path STEM program)
    file(STRINGS ${path} calls_lesson REGEX "#include \"${name}.hpp\"")
    if(calls_lesson)
      add_lesson_program(${program} ${path} ${student})
      if(NOT given_out)
        continue()
      endif()
      string(APPEND program _solution)
      add_lesson_program(${program} ${path} ${solved})
    else()
      add_lesson_program(${program} ${path})
    endif()
    add_dependencies(${lesson}_tests ${program})
    if(NOT mpi) # those measure how long ranks wait, and take as long
      add_test(NAME program.${lesson}.${program} COMMAND ${program})
      set_tests_properties(program.${lesson}.${program} PROPERTIES LABELS "${lesson};course" TIMEOUT 120)
    endif()
  endforeach()
endmacro()

function(add_lesson_program program)
  add_executable(${program} EXCLUDE_FROM_ALL ${ARGN})
  lesson_settings(${program} ${folder} ${mpi})
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

function(lesson_settings target folder mpi)
  target_link_libraries(${target} PRIVATE course_flags linear_algebra)
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
  set(options)
  if("${kind}" MATCHES "^(student|drill|solution|eigen_maps)$")
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # Else -O2 leaves a plain loop over a row as it is, one number at a time, which clang++ does not.
      set(options -fvect-cost-model=dynamic)
    endif()
  else()
    # Speed is not their point; compiling them all is. Eigen without vectors takes a sixth less to compile, and -O1 no
    # longer than -O0, whose code is far slower.
    set(options -O1 -DEIGEN_DONT_VECTORIZE)
  endif()
  if("${kind}" MATCHES "^(mutant|combination)_")
    list(APPEND options -w) # a mistake often leaves something unused
    if(COURSE_SANITIZE)
      list(APPEND options -fno-sanitize=all) # the judge that names them is what the sanitizers look at
    endif()
  endif()
  target_compile_options(${lesson}_${kind} PRIVATE ${options})
  if(COURSE_MISTAKES OR NOT "${kind}" MATCHES "^(mutant|combination)_")
    if(NOT "${kind}" MATCHES "^(student|drill|eigen_maps)$")
      add_dependencies(${lesson}_tests ${lesson}_${kind})
    endif()
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
  if(given_out)
    add_seeds_test(solution.${lesson} solution --expect pass --hidden)
  endif()
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
  if(given_out)
    add_judge_test(solution.${full_name} solution "${labels};solution" --gtest_filter=${full_name})
  endif()
endmacro()

# The skeleton as a handout keeps it, or else as the solution's marked regions give it, so that this test reads nothing
# that a student edits.
macro(add_skeleton)
  set(skeleton)
  foreach(file ${files})
    set(kept ${CMAKE_SOURCE_DIR}/skeletons/${folder}/${file})
    set(cut ${CMAKE_BINARY_DIR}/skeletons/${folder}/${file})
    if(EXISTS ${kept})
      set(cut ${kept})
    else()
      add_custom_command(OUTPUT ${cut} DEPENDS cut-skeleton ${solution}/${file}
                         COMMAND cut-skeleton ${solution}/${file} ${cut} VERBATIM)
    endif()
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
      set(expected pass --hidden)
    else()
      string(REPLACE "+" "," expected mistakes:${stem})
    endif()
    add_judge_test(${kind}.${lesson}.${stem} ${kind}_${target} "${lesson};course;${kind}" --expect ${expected})
    add_seeds_test(${kind}.${lesson}.${stem} ${kind}_${target} --expect ${expected})
  endforeach()
endmacro()
