# The tests of the Python player, on every lesson that has a solution in Python, solutions/05_ring_attention/ring_attention.py:
#   python.lesson05.solution      passes
#   python.lesson05.template      cut from the solution, is todo
#   python.lesson05.mutant.ID     a form in Python of tests/05_*/mistakes.md fails, and if it is named, then so
#   python.lesson05.variant.ID    a form in Python of tests/05_*/variants.md passes
# They exist only where a python3 with NumPy and mpi4py does; ./course doctor says so where it does not.

set(COURSE_PYTHON "" CACHE STRING "The python3 of the Python player's tests; empty: one with NumPy and mpi4py is looked for")
set(COURSE_PYTHON_PLAYER ${CMAKE_SOURCE_DIR}/common/player/python/player.py)

# Looks anew at each configuration: packages come and go.
function(find_course_python)
  set(found "")
  foreach(python ${COURSE_PYTHON} python3 /usr/bin/python3)
    execute_process(COMMAND ${python} -c "import numpy, mpi4py, sys; print(sys.executable)" RESULT_VARIABLE code
                    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(code EQUAL 0)
      break()
    endif()
    set(found "")
  endforeach()
  if(NOT found)
    message(STATUS "No python3 with numpy and mpi4py: the tests of the Python player are left out")
  endif()
  set(COURSE_PYTHON_FOUND "${found}" CACHE INTERNAL "The python3 of the Python player's tests; empty where there is none")
endfunction()
find_course_python()

function(add_python_tests lesson name)
  recall(${lesson} folder)
  set(source ${CMAKE_SOURCE_DIR}/solutions/${folder}/${name}.py)
  if(NOT COURSE_PYTHON_FOUND OR COURSE_SANITIZE OR NOT EXISTS ${source})
    return()
  endif()
  add_python_test(${lesson} solution ${source} pass)
  set(template ${CMAKE_BINARY_DIR}/skeletons/${folder}/${name}.py)
  add_custom_command(OUTPUT ${template} DEPENDS cut-skeleton ${source} COMMAND cut-skeleton ${source} ${template} VERBATIM)
  add_python_test(${lesson} template ${template} todo)
  set(files ${template})
  add_python_candidates(${lesson} ${source} mutant mistakes.md files)
  add_python_candidates(${lesson} ${source} variant variants.md files)
  add_custom_target(${lesson}_python DEPENDS ${files})
  add_dependencies(${lesson}_tests ${lesson}_python)
endfunction()

# Adds a test for each form in Python of that Markdown file, and to the list `result` what it is made into.
function(add_python_candidates lesson solution kind markdown result)
  recall(${lesson} folder tests)
  cmake_path(GET solution FILENAME name)
  candidates_in(${tests}/${markdown} "diff python" ids)
  foreach(id ${ids})
    if(id MATCHES "[+]")
      continue()
    endif()
    # The player tells the lesson by the folder's name.
    set(source ${CMAKE_BINARY_DIR}/candidates/${lesson}/python/${kind}/${id}/${folder}/${name})
    make_candidate(${tests}/${markdown} ${solution} ${id} ${source})
    list(APPEND ${result} ${source})
    cmake_path(GET id STEM section)
    set(expected pass)
    if(kind STREQUAL "mutant")
      set(expected mistakes:${section}) # what only an instrument sees has no name here
    endif()
    add_python_test(${lesson} ${kind}.${id} ${source} ${expected})
  endforeach()
  set(${result} ${${result}} PARENT_SCOPE)
endfunction()

function(add_python_test lesson test subject expected)
  add_candidate(${lesson} python python.${lesson}.${test} ${subject} ${expected} public python.${test}
                "${lesson};course;python")
endfunction()
