# Adds to the lists that the search box looks into: Doxygen's have a page under the beginning of its title alone, and no heading.
# After this a page and a heading are found by each word of theirs that says something, and by what follows it.
#   awk -v search=html/search -f search.awk PAGE.md...      each as Doxygen reads it: "# Title {#id}", "## Heading {#id-anchor}"
# Lists of all names are search/all_N.js, N in hexadecimal: the place of the first letter in what searchdata.js says of 0.

BEGIN {
  for (i = 32; i < 127; ++i) code[sprintf("%c", i)] = sprintf("_%x", i)
  for (i = 0; i < 36; ++i) {
    c = substr("abcdefghijklmnopqrstuvwxyz0123456789", i + 1, 1)
    code[c] = c
  }
  count = split("the and for are was does did its not but can has have how why what who when where which with from that this you your one two them they into than then", word, " ")
  for (i = 1; i <= count; ++i) empty[word[i]] = 1
  while ((getline line < (search "/searchdata.js")) > 0)
    if (line ~ /^ *0: "/) {
      split(line, part, "\"")
      letters = part[2]
      break
    }
}

FNR == 1 { fenced = scope = "" }
/^ *(```|~~~)/ { fenced = !fenced }
fenced || !/^#+ .* \{#[^ ]*\}$/ { next }

{
  id = $0
  sub(/.*\{#/, "", id)
  sub(/\}$/, "", id)
  text = $0
  sub(/^#+ */, "", text)
  sub(/ *\{#[^ ]*\}$/, "", text)
  gsub(/<[^>]*>|\\f\$/, "", text)
  gsub(/&nbsp;/, " ", text)
  gsub(/\\/, "", text)
  gsub(/'/, "\\x27", text)
  if ($0 ~ /^# /) {
    page = id
    scope = text
    add(text, page ".html", "")
  } else if (scope != "") add(text, page ".html#" id, scope)
}

function add(text, address, from,    rest, first) {
  rest = tolower(text)
  gsub(/\\x27/, "'", rest)
  gsub(/&lt;/, "<", rest)
  gsub(/&gt;/, ">", rest)
  gsub(/&amp;/, "\\&", rest)
  gsub(/&quot;/, "\"", rest)
  while (match(rest, /[a-z0-9_][a-z0-9_'-]*/)) {
    first = substr(rest, RSTART, RLENGTH)
    rest = substr(rest, RSTART)
    if (length(first) > 2 && !(first in empty) && index(letters, substr(first, 1, 1)))
      more[substr(first, 1, 1)] = more[substr(first, 1, 1)] sprintf("  ['%s_%d',['%s',['../%s',1,'%s']]],\n", key(rest), 100000 + ++entries, text, address, from)
    rest = substr(rest, length(first) + 1)
  }
}

# As convertToId of search.js does.
function key(text,    out, i, c) {
  out = ""
  for (i = 1; i <= length(text); ++i) {
    c = substr(text, i, 1)
    out = out (c in code ? code[c] : c)
  }
  return out
}

END {
  for (i = 1; i <= length(letters); ++i) {
    c = substr(letters, i, 1)
    list = search sprintf("/all_%x.js", i - 1)
    out = ""
    while ((getline line < list) > 0) {
      if (line ~ /^ *\['/ && line !~ /%[^']*\.md',\[/) { # files of texts have names with %, and pages that say nothing
        sub(/,$/, "", line)
        out = out (out == "" ? "" : ",\n") line
      }
    }
    close(list)
    if (out == "") sub(/,\n$/, "", more[c])
    printf "var searchData=\n[\n%s%s\n];\n", more[c], out > list
    close(list)
  }
}
