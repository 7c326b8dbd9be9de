# A header as Doxygen reads it, with as many lines.

# In comments a point between blanks is a product, two or three are a range or a list. Doxygen takes the first sentence of a
# comment for its short form, and would end it there.
/\/\/\// {
  while (match($0, /[^ \/.] \.(\.\.*)? /)) {
    mark = substr($0, RSTART + 2, RLENGTH - 3) == "." ? "·" : "…"
    $0 = substr($0, 1, RSTART + 1) mark substr($0, RSTART + RLENGTH - 1)
  }
}

# A comment above a namespace that many headers open, such as `course`, tells of the header.
BEGIN { of_many = "^namespace course(::(bench|checks|demo|gpu|gpu::nccl|lab|mpi_layer|program|program::grader|reference|timed))? [{]" }
/^\/\/\// {
  comment = comment $0 "\n"
  next
}
comment != "" {
  if ($0 ~ of_many && before == "") before = "/// \\file"
  else if ($0 ~ of_many) gsub(/(^|\n)\/\/\//, "&/", comment)
}
{
  print_before()
  before = $0
  begun = 1
}
END { print_before() }

function print_before() {
  if (begun) print before
  printf "%s", comment
  comment = ""
}
