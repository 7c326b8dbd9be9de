# Looks over a page that Doxygen has made, and lets what is wide break where it may, so that a narrow window shows it whole:
# formulas that stand by themselves, at \qquad and before an equals sign; and what a check reports, whose lines are long.
#   awk -v room=84 -f page.awk PAGE.html
# room    how many columns of code there is room for beside the menu

# ---- a formula that stands by itself, in pieces that a line can end between ----

/<p class="formulaDsp">/ { formula = "" ; within = 1 }
within {
  formula = formula (formula == "" ? "" : "\n") $0
  if ($0 ~ /<\/p>/) {
    within = 0
    print in_pieces(formula)
  }
  next
}

# ---- code and output: a check's report is marked, and what is wider than a chapter ----

{
  line = $0
  start = index(line, "<div class=\"line\">")
  text = substr(line, start + 18)
  if (start == 0 || text !~ /^[^<]*<\/div>/) reporting = 0
  else {
    if (text !~ /^      [^ ]/) reporting = text ~ /^((FAIL|TODO|PASS)  lesson[0-9]|lesson [0-9][0-9]:? )/
    sub(/<\/div>.*/, "", text)
    sub(/^ +/, "", text)
    if (reporting && (text ~ /^(FAIL|TODO)  / || text !~ /   /)) sub(/<div class="line">/, "<div class=\"line report\">", line)
  }
  # A fragment is kept until its end is seen, which may stand in the line in which the next one begins.
  if (keeping && (start = index(line, "<!-- fragment -->"))) {
    kept = kept substr(line, 1, start + 16)
    line = substr(line, start + 17)
    # In two steps. What is wider still has to scroll, whatever its size.
    if (widest > room && widest <= room + 17) sub(/<div class="fragment">/, "<div class=\"fragment " (kept ~ /█|─/ || widest > room + 6 ? "wider" : "wide") "\">", kept)
    printf "%s", kept
    keeping = 0
  }
  if (start = index(line, "<div class=\"fragment\"><div class=\"line")) {
    printf "%s", substr(line, 1, start - 1)
    line = substr(line, start)
    kept = ""
    widest = 0
    keeping = 1
  }
  if (keeping) {
    if (line ~ /<div class="line">/ && (width = columns(line)) > widest) widest = width
    kept = kept line "\n"
  } else print line
}

END { if (keeping) printf "%s", kept }

# How many columns a line of code takes. (awk counts bytes here.)
function columns(html) {
  sub(/.*<div class="line">/, "", html)
  gsub(/<[^>]*>/, "", html)
  gsub(/&[a-z0-9#]*;/, "x", html)
  gsub(/[\200-\277]/, "", html)
  return length(html)
}

# A page's formula, whose LaTeX stands between \\[ and \\], as pieces; as it is if there is nothing to cut it at.
function in_pieces(html, at, end, n, piece, apart, out, i) {
  at = index(html, "\\[")
  end = index(html, "\\]")
  if (at == 0 || end == 0) return html
  n = cut(substr(html, at + 2, end - at - 2), piece, apart)
  if (n == 1) return html
  out = substr(html, 1, at - 1)
  for (i = 1; i <= n; ++i)
    out = out (i > 1 ? "\n" : "") "<span class=\"piece" (apart[i] ? " apart" : "") "\">\\(\\displaystyle " piece[i] "\\)</span>"
  return out substr(html, end + 2)
}

# Cuts LaTeX outside of braces, \left and environments: at \qquad, and before an equals sign that is not the first sign of its kind.
function cut(tex, piece, apart, n, depth, equal, word) {
  n = 1
  depth = equal = 0
  piece[1] = ""
  while (tex != "") {
    if (!match(tex, /^\\([a-zA-Z]+|.)/)) RLENGTH = 1
    word = substr(tex, 1, RLENGTH)
    tex = substr(tex, RLENGTH + 1)
    if (word == "{" || word == "\\left" || word == "\\begin") ++depth
    if (word == "}" || word == "\\right" || word == "\\end") --depth
    if (depth == 0 && word == "\\qquad") {
      piece[++n] = ""
      apart[n] = 1
      equal = 0
      continue
    }
    if (depth == 0 && word ~ /^\\(leftarrow|approx|le|ge)$/) ++equal
    if (depth == 0 && word == "=" && ++equal > 1) piece[++n] = "{}"
    piece[n] = piece[n] word
  }
  return n
}
