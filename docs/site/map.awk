# Turns the table of lessons (lessons.cmake) into a graph for dot: a box a lesson, an arrow from what another builds on to it,
# a frame round each part. Colours are the style sheet's, by class.
# names  titles, or numbers: boxes small enough for a narrow screen
BEGIN {
  FS = "\t"
  print "digraph map {"
  print "  graph [rankdir=TB, bgcolor=transparent, fontname=\"Helvetica\", fontsize=13, ranksep=0.35, nodesep=0.25];"
  print "  node [shape=box, style=rounded, class=lesson, fontname=\"Helvetica\", fontsize=13, margin=\"0.12,0.06\"" (names == "titles" ? "" : ", width=0.4") "];"
  print "  edge [class=arrow, arrowsize=0.7];"
}
$4 != part {
  if (part != "") print "  }"
  part = $4
  printf "  subgraph cluster_%d {\n    label=\"%s\"; class=part; style=rounded; labeljust=l;\n", ++parts, (names == "titles" ? part : "")
}
{
  printf "    l%s [label=\"%s\", URL=\"lesson_%s.html\", tooltip=\"%s\"];\n", $1, (names == "titles" ? $1 " · " $3 : $1), $1, $3 ": " $5
  n = split($6, ground, " ")
  for (i = 1; i <= n; ++i) edges = edges sprintf("  l%s -> l%s;\n", ground[i], $1)
}
END {
  if (part != "") print "  }"
  printf "%s}\n", edges
}
