# The tests of the course's own submissions to a lesson, whose nature is known: solutions and variants pass, skeletons
# are to do, mutants fail and are named, combinations are not misnamed. Those of a set are played together, by one test
# that is the fixture of the others, since the judge then works out the right answers once:
#   candidates.lesson05.given       the solution and the skeleton
#   candidates.lesson05.mistakes    mutants, combinations and variants
#   candidates.lesson05.seeds       all of these with COURSE_SEEDS seeds, for the tests seeds.* (label seeds)
#   candidates.lesson05.answers     tests/ledger/answers, compiled by the test answer.lesson05.build
#   candidates.lesson05.python      what Python.cmake adds
# The judge writes what came of each into verdicts/LESSON/SET/, where the test that is named after it reads it.

set(COURSE_SEEDS 4 CACHE STRING "With how many seeds the tests with the label seeds draw their inputs")

# Adds the test NAME to a set: the judge expects EXPECT of the subject, plays the hidden inputs as well where HIDDEN is
# "hidden" rather than "public", and compares with the ledger's ENTRY.
function(add_candidate lesson set name subject expect hidden entry labels)
  if(COURSE_SANITIZE) # memory is not measured there, and a read out of bounds ends what otherwise gives an answer
    set(entry -)
  endif()
  set_property(GLOBAL APPEND PROPERTY ${lesson}.sets ${set})
  set_property(GLOBAL APPEND_STRING PROPERTY ${lesson}.${set}
               "${name}\t${subject}\t${expect}\t${hidden}\t${entry}\n")
  add_verdict_test(${lesson} ${set} ${name} "${labels}")
endfunction()

# The test NAME, which reads what the judge has written under this name.
function(add_verdict_test lesson set name labels)
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E cat ${CMAKE_BINARY_DIR}/verdicts/${lesson}/${set}/${name})
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" FIXTURES_REQUIRED ${lesson}.${set}
                       PASS_REGULAR_EXPRESSION "^holds")
endfunction()

# A candidate that is compiled with the tests, and is played once more with COURSE_SEEDS seeds.
function(add_compiled_candidate lesson set name kind expect hidden labels)
  set(subject $<TARGET_FILE:${lesson}_${kind}>)
  string(REGEX REPLACE "^(mutant|variant|combination)_" "\\1." entry ${kind})
  add_candidate(${lesson} ${set} ${name} ${subject} ${expect} ${hidden} ${entry} "${labels}")
  if(NOT kind STREQUAL "skeleton") # which does nothing with any seed
    add_candidate(${lesson} seeds seeds.${name} ${subject} ${expect} ${hidden} ${entry} "${lesson};seeds")
  endif()
  if(COURSE_MISTAKES OR NOT kind MATCHES "^(mutant|combination)_")
    add_dependencies(${lesson}_tests ${lesson}_${kind})
  endif()
endfunction()

# The skeleton as a handout keeps it, or else as the solution's marked regions give it, so that this test reads nothing
# that a student edits.
function(add_skeleton lesson)
  recall(${lesson} folder)
  set(skeleton)
  foreach(file ${ARGN})
    set(kept ${CMAKE_SOURCE_DIR}/skeletons/${folder}/${file})
    set(cut ${CMAKE_BINARY_DIR}/skeletons/${folder}/${file})
    set(solution ${CMAKE_SOURCE_DIR}/solutions/${folder}/${file})
    if(EXISTS ${kept})
      set(cut ${kept})
    else()
      add_custom_command(OUTPUT ${cut} DEPENDS cut-skeleton ${solution} COMMAND cut-skeleton ${solution} ${cut} VERBATIM)
    endif()
    list(APPEND skeleton ${cut})
  endforeach()
  add_subject(${lesson} skeleton ${skeleton})
  add_compiled_candidate(${lesson} given skeleton.${lesson} skeleton todo public "${lesson};course")
endfunction()

# One test a task and world size, beside the one of them all.
function(add_solution lesson)
  recall(${lesson} mpi)
  add_subject(${lesson} solution ${ARGN})
  add_compiled_candidate(${lesson} given solution.${lesson} solution pass hidden "${lesson};solution")
  set(labels ${lesson})
  if(mpi)
    list(APPEND labels mpi)
  endif()
  graded_tests_of(${lesson} tests)
  foreach(test ${tests})
    add_verdict_test(${lesson} given solution.${lesson}.${test} "${labels};solution")
  endforeach()
endfunction()

# Mutants, combinations and variants of a solution.
function(add_mistakes_and_variants lesson solution)
  recall(${lesson} tests json)
  foreach(kind mutant variant combination)
    file(GLOB found CONFIGURE_DEPENDS ${tests}/${kind}s/*.cpp ${tests}/${kind}s/*.patch)
    foreach(path ${found})
      cmake_path(GET path STEM LAST_ONLY id)
      told_by("${json}" ${id} by)
      if(COURSE_SANITIZE AND by STREQUAL "instrument")
        continue() # memory is not measured under a sanitizer, whose own bookkeeping would be counted
      endif()
      set(source ${path})
      if(path MATCHES "\\.patch$")
        set(source ${CMAKE_BINARY_DIR}/patched/${lesson}/${kind}/${id}.cpp)
        add_custom_command(OUTPUT ${source} DEPENDS ${path} ${solution}
                           COMMAND patch --quiet --output ${source} ${solution} ${path} VERBATIM)
      endif()
      set(hidden public)
      if(kind STREQUAL "mutant")
        set(expected mistake:${id})
      elseif(kind STREQUAL "variant")
        set(expected pass)
        set(hidden hidden)
      else()
        string(REPLACE "+" "," expected mistakes:${id})
      endif()
      string(REPLACE "+" "_and_" target ${kind}_${id})
      add_subject(${lesson} ${target} ${source})
      add_compiled_candidate(${lesson} mistakes ${kind}.${lesson}.${id} ${target} ${expected} ${hidden}
                             "${lesson};course;${kind}")
    endforeach()
  endforeach()
endfunction()

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

# Answers to the headers as they once were, which have to compile and to be judged for ever: right.cpp, and a mistake's
# ID.cpp. Like a student's file they are compiled by a test, and only where slow tests run.
function(add_answers lesson)
  recall(${lesson} folder)
  file(GLOB found CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/ledger/answers/${folder}/*.cpp)
  if(NOT found OR COURSE_SANITIZE)
    return()
  endif()
  add_custom_target(${lesson}_answers DEPENDS judge_${lesson} player_solo player_mpi)
  add_test(NAME answer.${lesson}.build COMMAND ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target ${lesson}_answers)
  set_tests_properties(answer.${lesson}.build PROPERTIES FIXTURES_SETUP ${lesson}.answers.build LABELS "${lesson};slow"
                       RESOURCE_LOCK ninja TIMEOUT 600)
  foreach(path ${found})
    cmake_path(GET path STEM LAST_ONLY id)
    add_subject(${lesson} answer_${id} ${path})
    set_target_properties(${lesson}_answer_${id} PROPERTIES EXCLUDE_FROM_ALL ON)
    add_dependencies(${lesson}_answers ${lesson}_answer_${id})
    set(expected mistake:${id})
    set(hidden public)
    if(id STREQUAL "right")
      set(expected pass)
      set(hidden hidden)
    endif()
    add_candidate(${lesson} answers answer.${lesson}.${id} $<TARGET_FILE:${lesson}_answer_${id}> ${expected} ${hidden}
                  answer.${id} "${lesson};slow")
  endforeach()
endfunction()

# Adds the tests that play the lesson's sets.
function(play_candidates lesson)
  recall(${lesson} sets player)
  list(REMOVE_DUPLICATES sets)
  foreach(set ${sets})
    recall(${lesson} ${set})
    set(file ${CMAKE_BINARY_DIR}/candidates/${lesson}/${set}.tsv)
    file(GENERATE OUTPUT ${file} CONTENT "${${set}}")
    set(options --candidates ${file} --verdicts ${CMAKE_BINARY_DIR}/verdicts/${lesson}/${set})
    set(seeds 1)
    set(labels course)
    set(players --player $<TARGET_FILE:${player}>)
    if(set STREQUAL "seeds")
      set(seeds ${COURSE_SEEDS})
      set(labels seeds)
    elseif(set STREQUAL "mistakes")
      list(APPEND labels mutant) # what leaves mutants out need not play them
    elseif(set STREQUAL "answers")
      set(labels slow)
    elseif(set STREQUAL "python")
      list(APPEND labels python)
      set(players --player ${COURSE_PYTHON_FOUND} --player ${COURSE_PYTHON_PLAYER})
    endif()
    if(EXISTS ${CMAKE_SOURCE_DIR}/tests/ledger)
      list(APPEND options --ledger ${CMAKE_SOURCE_DIR}/tests/ledger/verdicts/${lesson}.tsv)
    endif()
    set(test candidates.${lesson}.${set})
    add_test(NAME ${test} COMMAND judge_${lesson} --registry ${COURSE_REGISTRY} ${players} --seeds ${seeds} ${options})
    math(EXPR limit "900 + 60 * ${seeds}")
    set_tests_properties(${test} PROPERTIES FIXTURES_SETUP ${lesson}.${set} LABELS "${lesson};${labels}" TIMEOUT ${limit})
    if(set STREQUAL "answers")
      set_tests_properties(${test} PROPERTIES FIXTURES_REQUIRED ${lesson}.answers.build)
    endif()
  endforeach()
endfunction()
