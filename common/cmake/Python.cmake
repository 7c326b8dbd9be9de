# The tests of the Python player, on every lesson that has a solution in Python, solutions/05_ring_attention/ring_attention.py:
#   python.lesson05.solution      passes
#   python.lesson05.template      cut from the solution, is todo
#   python.lesson05.mutant.ID     tests/05_*/python/mutants/ID.patch fails and is named
#   python.lesson05.variant.ID    tests/05_*/python/variants/ID.patch passes
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

# For add_lesson, whose variables it uses.
macro(add_python_tests)
  set(source ${solution}/${name}.py)
  if(COURSE_PYTHON_FOUND AND EXISTS ${source} AND NOT COURSE_SANITIZE)
    set(python_files)
    add_python_test(solution ${source} pass)
    set(template ${CMAKE_BINARY_DIR}/skeletons/${folder}/${name}.py)
    add_custom_command(OUTPUT ${template} DEPENDS cut-skeleton ${source}
                       COMMAND cut-skeleton ${source} ${template} VERBATIM)
    list(APPEND python_files ${template})
    add_python_test(template ${template} todo)
    add_python_patches(mutant)
    add_python_patches(variant)
    add_custom_target(${lesson}_python DEPENDS ${python_files})
    add_dependencies(${lesson}_tests ${lesson}_python)
  endif()
endmacro()

macro(add_python_patches kind)
  file(GLOB found CONFIGURE_DEPENDS ${tests}/python/${kind}s/*.patch)
  foreach(path ${found})
    cmake_path(GET path STEM LAST_ONLY stem)
    # The player tells the lesson by the folder's name.
    set(patched ${CMAKE_BINARY_DIR}/patched/python/${kind}/${stem}/${folder}/${name}.py)
    cmake_path(GET patched PARENT_PATH patched_folder)
    add_custom_command(OUTPUT ${patched} DEPENDS ${path} ${source}
                       COMMAND ${CMAKE_COMMAND} -E make_directory ${patched_folder}
                       COMMAND patch --quiet --output ${patched} ${source} ${path} VERBATIM)
    list(APPEND python_files ${patched})
    if("${kind}" STREQUAL "mutant")
      add_python_test(mutant.${stem} ${patched} mistake:${stem})
    else()
      add_python_test(variant.${stem} ${patched} pass)
    endif()
  endforeach()
endmacro()

macro(add_python_test test subject expected)
  find_in_ledger(python.${test})
  add_test(NAME python.${lesson}.${test}
           COMMAND $<TARGET_FILE:judge_${lesson}> --registry ${COURSE_REGISTRY} --player ${COURSE_PYTHON_FOUND}
                   --player ${COURSE_PYTHON_PLAYER} --subject ${subject} --expect ${expected} ${ledger})
  set_tests_properties(python.${lesson}.${test} PROPERTIES LABELS "${lesson};course;python" TIMEOUT 300)
  if(mpi)
    set_tests_properties(python.${lesson}.${test} PROPERTIES PROCESSORS 2)
  endif()
endmacro()
