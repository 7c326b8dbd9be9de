# The tests of the course's own submissions to a lesson, whose nature is known: solutions and variants pass, skeletons
# are to do, mutants fail and are named, combinations are not misnamed. Those of a set are played together, by one test
# that is the fixture of the others, since the judge then works out the right answers once:
#   candidates.lesson05.given       the solution and the skeleton
#   candidates.lesson05.mistakes    mutants, those without a name too, combinations and variants; wrong ones on few ranks
#   candidates.lesson05.seeds       right ones of these with COURSE_SEEDS seeds, wrong ones with COURSE_SEEDS_OF_MISTAKES,
#                                   and with COURSE_FORMS a mistake's further forms, on few ranks, for the tests
#                                   seeds.* (label seeds)
#   candidates.lesson05.answers     tests/ledger/answers, compiled by the test answer.lesson05.build; wrong ones on few ranks
#   candidates.lesson05.corpus      tests/corpus, compiled by the test corpus.lesson05.build; wrong ones on few ranks
#   candidates.lesson05.python      what Python.cmake adds
# The judge writes what came of each into verdicts/LESSON/SET/, where the test that is named after it reads it.

option(COURSE_FORMS "Build every form of a mistake, not the first alone, for the tests with the label seeds" OFF)
set(COURSE_MOST_RANKS 5) # of wrong answers, unless they fail on more alone: each more costs time, and shows little more
set(COURSE_SEEDS 4 CACHE STRING "With how many seeds the tests with the label seeds draw their inputs")
set(COURSE_SEEDS_OF_MISTAKES 1 CACHE STRING "The same of wrong answers")

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

# The test NAME, which prints what the judge has written under this name, and fails unless that begins with "holds".
function(add_verdict_test lesson set name labels)
  add_test(NAME ${name} COMMAND sh -c [=[cat "$0" && read -r first <"$0" && [ "$first" = holds ]]=]
           ${CMAKE_BINARY_DIR}/verdicts/${lesson}/${set}/${name})
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" FIXTURES_REQUIRED ${lesson}.${set})
endfunction()

# A candidate that is compiled with the tests, and is played once more with COURSE_SEEDS seeds.
function(add_compiled_candidate lesson set name kind expect hidden labels)
  set(subject $<TARGET_FILE:${lesson}_${kind}>)
  string(REGEX REPLACE "^(mutant|variant|combination)_" "\\1." entry ${kind})
  if(NOT kind MATCHES "[.][0-9]+$") # a further form
    add_candidate(${lesson} ${set} ${name} ${subject} ${expect} ${hidden} ${entry} "${labels}")
  endif()
  if(NOT kind STREQUAL "skeleton") # which does nothing with any seed
    add_candidate(${lesson} seeds seeds.${name} ${subject} ${expect} ${hidden} ${entry} "${lesson};seeds")
  endif()
  if(COURSE_MISTAKES OR NOT kind MATCHES "^(mutant|unnamed|combination)_")
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

# Mutants, combinations and variants of a solution, from mistakes.md and variants.md.
function(add_mistakes_and_variants lesson solution)
  recall(${lesson} tests ending)
  read_instruments(${lesson})
  foreach(file mistakes variants)
    candidates_in(${tests}/${file}.md "cpp|diff" ids)
    foreach(id ${ids})
      cmake_path(GET id STEM section)
      if(section STREQUAL "unnamed" AND COURSE_SANITIZE)
        continue() # it may be an instrument that tells it
      endif()
      if(COURSE_SANITIZE AND section IN_LIST ${lesson}_instruments)
        continue() # memory is not measured under a sanitizer, whose own bookkeeping would be counted
      endif()
      set(kind mutant)
      set(expected mistake:${section})
      set(hidden public)
      if(section STREQUAL "unnamed") # edits that must fail, and have no text
        set(kind unnamed)
        set(expected fails)
      elseif(file STREQUAL "variants")
        set(kind variant)
        set(expected pass)
        set(hidden hidden)
      elseif(id MATCHES "[+]")
        set(kind combination)
        string(REPLACE "+" "," expected mistakes:${section})
      endif()
      set(source ${CMAKE_BINARY_DIR}/candidates/${lesson}/${kind}/${id}${ending})
      make_candidate(${tests}/${file}.md ${solution} ${id} ${source})
      string(REPLACE "+" "_and_" target ${kind}_${id})
      add_subject(${lesson} ${target} ${source})
      if(kind STREQUAL "mutant" AND NOT section IN_LIST ${lesson}_instruments)
        add_form(${lesson} ${id} ${source})
      endif()
      add_compiled_candidate(${lesson} mistakes ${kind}.${lesson}.${id} ${target} ${expected} ${hidden}
                             "${lesson};course;${kind}")
    endforeach()
  endforeach()
endfunction()

# A form whose outcomes are recorded (common/judge/outcomes), where the lesson is named by them: compiled also as a
# student's file is.
function(add_form lesson id source)
  recall(${lesson} tests)
  if(NOT COURSE_FORMS OR NOT EXISTS ${tests}/outcomes.tsv)
    return()
  endif()
  add_subject(${lesson} recorded_${id} ${source})
  set_target_properties(${lesson}_recorded_${id} PROPERTIES EXCLUDE_FROM_ALL ON)
  set_property(GLOBAL APPEND PROPERTY ${lesson}.recorded ${lesson}_recorded_${id} ${lesson}_mutant_${id})
  set_property(GLOBAL APPEND_STRING PROPERTY ${lesson}.forms
               "${id}\t$<TARGET_FILE:${lesson}_mutant_${id}>\t$<TARGET_FILE:${lesson}_recorded_${id}>\n")
endfunction()

# Adds the test that records what comes of the lesson's forms, which runs for `./course test --record` alone.
function(record_forms lesson)
  recall(${lesson} tests forms recorded player)
  if(NOT recorded)
    return()
  endif()
  set(file ${CMAKE_BINARY_DIR}/candidates/${lesson}/forms.tsv)
  file(GENERATE OUTPUT ${file} CONTENT "${forms}")
  add_custom_target(${lesson}_recorded DEPENDS judge_${lesson} player_solo player_mpi ${player} ${lesson}_solution ${recorded})
  add_test(NAME record.${lesson}.build COMMAND ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target ${lesson}_recorded)
  set_tests_properties(record.${lesson}.build PROPERTIES FIXTURES_SETUP ${lesson}.recorded LABELS "${lesson};record"
                       RESOURCE_LOCK ninja TIMEOUT 1800)
  add_test(NAME record.${lesson}
           COMMAND sh -c [=[[ -n "$COURSE_RECORD_LEDGER" ] || { echo "nobody asked to record"; exit 77; }; exec "$0" "$@"]=]
                   $<TARGET_FILE:judge_${lesson}> --registry ${COURSE_REGISTRY} --player $<TARGET_FILE:${player}>
                   --subject $<TARGET_FILE:${lesson}_solution> --forms ${file} --record-outcomes ${tests}/outcomes.tsv)
  set_tests_properties(record.${lesson} PROPERTIES FIXTURES_REQUIRED ${lesson}.recorded LABELS "${lesson};record"
                       TIMEOUT 1800 SKIP_RETURN_CODE 77)
endfunction()

# Writes the source of a candidate at build time.
function(make_candidate markdown solution id source)
  add_custom_command(OUTPUT ${source} DEPENDS make-candidate ${markdown} ${solution}
                     COMMAND make-candidate ${solution} ${markdown} ${id} ${source} VERBATIM)
endfunction()

# The candidates that a Markdown file has in fences of these languages: ID, and with COURSE_FORMS for its further forms
# ID.2, ID.3. A combination is one without a fence, too.
function(candidates_in markdown languages result)
  set(ids)
  set(section)
  if(EXISTS ${markdown})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${markdown})
    file(STRINGS ${markdown} lines REGEX "^## |^```(${languages})( [a-z_]+ = .*)?$")
    foreach(line ${lines})
      if(line MATCHES "^## (.*)")
        string(REPLACE " " "" section "${CMAKE_MATCH_1}")
        set(form 1)
        if(section MATCHES "[+]")
          list(APPEND ids ${section})
        endif()
      else()
        string(REGEX MATCHALL "," constants "${line}") # "```diff tile = 8, 16" is two forms
        foreach(constant LAST ${constants})
          if(form EQUAL 1)
            list(APPEND ids ${section})
          elseif(COURSE_FORMS)
            list(APPEND ids ${section}.${form})
          endif()
          math(EXPR form "${form} + 1")
        endforeach()
      endif()
    endforeach()
  endif()
  list(REMOVE_DUPLICATES ids) # a combination with a fence
  set(${result} ${ids} PARENT_SCOPE)
endfunction()

# Sets LESSON_instruments to the ids of the mistakes that an instrument tells, as the lesson's mistakes.md says or the one
# that lessons share.
function(read_instruments lesson)
  recall(${lesson} tests)
  set(instruments)
  foreach(file ${CMAKE_SOURCE_DIR}/tests/mistakes.md ${tests}/mistakes.md)
    if(EXISTS ${file})
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
      file(STRINGS ${file} lines REGEX "^## |^- by: ")
      foreach(line ${lines})
        if(line MATCHES "^## (.*)")
          set(id ${CMAKE_MATCH_1})
        elseif(line STREQUAL "- by: instrument")
          list(APPEND instruments ${id})
        else()
          list(REMOVE_ITEM instruments ${id})
        endif()
      endforeach()
    endif()
  endforeach()
  set(${lesson}_instruments ${instruments} PARENT_SCOPE)
endfunction()

# Answers to the headers as they once were, which have to compile and to be judged for ever: right.cpp, and what the
# edits of mistakes.md make of it. Like a student's file they are compiled by a test, and only where slow tests run.
function(add_answers lesson)
  recall(${lesson} folder ending)
  set(answers ${CMAKE_SOURCE_DIR}/tests/ledger/answers/${folder})
  if(NOT EXISTS ${answers}/right${ending} OR COURSE_SANITIZE)
    return()
  endif()
  compile_when_tested(${lesson} answers answer)
  candidates_in(${answers}/mistakes.md diff mistakes)
  foreach(id right ${mistakes})
    set(source ${answers}/right${ending})
    set(expected pass)
    set(hidden hidden)
    if(NOT id STREQUAL "right")
      set(source ${CMAKE_BINARY_DIR}/candidates/${lesson}/answer/${id}${ending})
      make_candidate(${answers}/mistakes.md ${answers}/right${ending} ${id} ${source})
      set(expected mistake:${id})
      set(hidden public)
    endif()
    add_late_candidate(${lesson} answers answer ${id} ${source} ${expected} ${hidden})
  endforeach()
endfunction()

# What people have written who read a lesson's page alone, right and wrong: whole files, of which a wrong one has to fail,
# and is named as the ids behind "// mistake:" or not.
function(add_corpus lesson)
  recall(${lesson} ending)
  set(corpus ${CMAKE_SOURCE_DIR}/tests/corpus/${lesson})
  if(NOT EXISTS ${corpus} OR COURSE_SANITIZE)
    return()
  endif()
  compile_when_tested(${lesson} corpus corpus)
  file(GLOB sources CONFIGURE_DEPENDS ${corpus}/right/*${ending} ${corpus}/wrong/*${ending})
  foreach(source ${sources})
    cmake_path(GET source STEM name)
    if(source MATCHES "/right/[^/]*$")
      add_late_candidate(${lesson} corpus corpus right.${name} ${source} pass hidden)
    else()
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
      file(STRINGS ${source} mistakes REGEX "^// mistake: ")
      string(REGEX REPLACE "^// mistake: " ":" mistakes "${mistakes}")
      string(REPLACE " " "," mistakes "${mistakes}")
      add_late_candidate(${lesson} corpus corpus wrong.${name} ${source} fails${mistakes} public)
    endif()
  endforeach()
endfunction()

# The target LESSON_SET, which the test KIND.LESSON.build builds before the set is played: so submissions are compiled as a
# student's file is, and only where slow tests run.
function(compile_when_tested lesson set kind)
  recall(${lesson} player)
  add_custom_target(${lesson}_${set} DEPENDS judge_${lesson} player_solo player_mpi ${player})
  add_test(NAME ${kind}.${lesson}.build COMMAND ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target ${lesson}_${set})
  set_tests_properties(${kind}.${lesson}.build PROPERTIES FIXTURES_SETUP ${lesson}.${set}.build LABELS "${lesson};slow"
                       RESOURCE_LOCK ninja TIMEOUT 600)
endfunction()

# The test KIND.LESSON.ID of a set that compile_when_tested() has begun.
function(add_late_candidate lesson set kind id source expected hidden)
  string(REPLACE "." "_" target ${kind}_${id})
  add_subject(${lesson} ${target} ${source})
  set_target_properties(${lesson}_${target} PROPERTIES EXCLUDE_FROM_ALL ON)
  add_dependencies(${lesson}_${set} ${lesson}_${target})
  add_candidate(${lesson} ${set} ${kind}.${lesson}.${id} $<TARGET_FILE:${lesson}_${target}> ${expected} ${hidden}
                ${kind}.${id} "${lesson};slow")
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
      list(APPEND options --most-ranks-of-further-forms ${COURSE_MOST_RANKS}
                          --most-seeds-of-mistakes ${COURSE_SEEDS_OF_MISTAKES})
    elseif(set STREQUAL "mistakes")
      list(APPEND labels mutant) # what leaves mutants out need not play them
      list(APPEND options --most-ranks ${COURSE_MOST_RANKS})
    elseif(set MATCHES "^(answers|corpus)$")
      set(labels slow)
      list(APPEND options --most-ranks ${COURSE_MOST_RANKS})
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
    if(set MATCHES "^(answers|corpus)$")
      set_tests_properties(${test} PROPERTIES FIXTURES_REQUIRED ${lesson}.${set}.build)
    endif()
  endforeach()
endfunction()
