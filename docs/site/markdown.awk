# Turns one page of GitHub's Markdown into what Doxygen reads: dollar mathematics, folded parts, HTML comments, pictures,
# links to files and to headings by GitHub's anchors. Any awk will do. Line numbers stay, so that a warning points at the page.
#   awk -v file=lessons/05_ring_attention/README.md -v root=. -v pages=pages.tsv -v linked=linked -v strict=1 -f markdown.awk FILE
# file    the page's path from the root
# root    the root of the course
# pages   what the site has of its own for a file: path, address (and more), separated by tabs; says also where this page is
# linked  files that the page links to and that have no place in `pages` are appended here; each gets a page that shows it
# title   what the page is called, in place of its first heading; toc  1: a list of its headings stands below it
# strict  1: a link to what does not exist ends in exit 1; 0 (a handout, which holds a part of the course): it becomes plain text

BEGIN {
  FS = "\n"
  while ((getline line < pages) > 0) {
    split(line, cell, "\t")
    address[cell[1]] = cell[2]
  }
  folder = parent(file)
  id = address[file]
  sub(/\.html$/, "", id)
  html_tags = " a b br code div em i img kbd li ol p pre span strong sub sup table td th tr u ul "
}

# ---- lines into blocks: what stands between blank lines, fences apart ----

{ sub(/\r$/, "") }

fence != "" {
  if (closes_fence($0)) fence = ""
  print
  next
}

hidden {
  if (index($0, "-->") == 0) {
    print ""
    next
  }
  $0 = substr($0, index($0, "-->") + 3)
  hidden = 0
}

{ $0 = without_comments($0) }

/^ *(```|~~~)/ {
  flush_block()
  match($0, /^ */)
  indent = substr($0, 1, RLENGTH)
  rest = substr($0, RLENGTH + 1)
  mark = substr(rest, 1, 1)
  length_of = 1
  while (substr(rest, length_of + 1, 1) == mark) ++length_of
  fence = substr(rest, 1, length_of)
  print indent fence language_of(substr(rest, length_of + 1))
  next
}

/^[ \t]*$/ && !display {
  flush_block()
  print (toc && titled == 1 ? "\\tableofcontents{HTML:2}" : "")
  if (titled) titled = 2
  next
}

# An indented line behind a blank one is code, if it does not belong to a list.
/^    / && !block_lines && !display && !in_list {
  print
  next
}

{
  if (!block_lines && !/^ /) in_list = /^([0-9]+[.)]|[-*+]) /
  block = block (block_lines++ ? "\n" : "") $0
}

END {
  flush_block()
  if (fence != "") complain("a fence is not closed")
  exit failed
}

function flush_block() {
  if (block_lines) print converted(block)
  block = ""
  block_lines = 0
}

function closes_fence(line) {
  sub(/^ */, "", line)
  sub(/ *$/, "", line)
  return length(line) >= length(fence) && substr(line, 1, length(fence)) == fence && line !~ /[^`~]/
}

function language_of(word) {
  sub(/^ */, "", word)
  sub(/[ \t].*/, "", word)
  if (word ~ /^(cpp|c\+\+|cuda|cu|c)$/) return "{.cpp}"
  if (word ~ /^(py|python)$/) return "{.py}"
  return "{.unparsed}"
}

function without_comments(line,    start, end, code) {
  while ((start = index(line, "<!--")) > 0) {
    code = substr(line, 1, start - 1)
    if (gsub(/`/, "`", code) % 2) return line # in a code span
    end = index(substr(line, start), "-->")
    if (end == 0) {
      hidden = 1
      return substr(line, 1, start - 1)
    }
    line = substr(line, 1, start - 1) substr(line, start + end + 2)
    sub(/ +$/, "", line)
  }
  return line
}

# ---- a block ----

# A heading and a row of a table end with their line; what else is on a line may go on on the next.
function converted(text,    lines, count, i, run, out, listed) {
  count = split(text, lines, "\n")
  run = out = ""
  for (i = 1; i <= count; ++i) {
    if (lines[i] ~ /^ *([0-9]+[.)]|[-*+]) /) {
      # A number that comes to stand at the beginning of a line within a paragraph begins no list.
      if (!display && !listed && run != "" && lines[i] ~ /^ *[0-9]+\. / && lines[i] !~ /^ *1\. /) sub(/\. /, "\\. ", lines[i])
      else listed = 1
    }
    if (!display && lines[i] ~ /^#+ /) {
      out = out ended(run) heading(lines[i]) (i < count ? "\n" : "")
      run = ""
    } else if (!display && lines[i] ~ /^ *\|/) {
      in_row = 1
      out = out ended(run) (lines[i] ~ /^[ |:-]+$/ ? lines[i] : roomy(inline(lines[i]))) (i < count ? "\n" : "")
      in_row = 0
      run = ""
    } else {
      run = run (run_lines++ ? "\n" : "") lines[i]
      if (i == count) {
        out = out inline(run)
        run = ""
      }
    }
    if (run == "") run_lines = 0
  }
  return out
}

# A row of a table of three columns or more as Doxygen gets it, in which the style can give a long text room: such a table
# scrolls, and would squeeze the text into a narrow column all the same.
function roomy(row,    cells, count, i, cell, seen) {
  gsub(/\\\|/, "\001", row)
  count = split(row, cells, "|")
  row = cells[1]
  for (i = 2; i <= count; ++i) {
    cell = seen = cells[i]
    gsub(/<[^>]*>|\\(end)?htmlonly/, "", seen)
    if (count > 4 && length(seen) > 50) cell = " <span class=\"long\">" cell "</span> "
    row = row "|" cell
  }
  gsub(/\001/, "\\|", row)
  return row
}

function ended(run) { return run == "" ? "" : inline(run) "\n" }

function heading(line,    level, text, slug) {
  match(line, /^#+/)
  level = RLENGTH
  text = substr(line, level + 1)
  sub(/^ +/, "", text)
  sub(/ +#* *$/, "", text)
  if (level == 1 && !titled) {
    titled = 1
    if (title != "") text = title

    # In the menu it is called Home.
    if (id == "index")
      return "# Home\n\n\\htmlonly[block]<style>div.header { display: none; }</style><h1 class=\"course\">" html(text) "</h1>\\endhtmlonly"
    return "# " plain(text) " {#" id "}"
  }
  slug = slug_of(text)
  if (slug in slugs) slug = slug "-" slugs[slug]++
  else slugs[slug] = 1
  in_heading = 1
  text = inline(text)
  in_heading = 0
  return substr("######", 1, level) " " text " {#" id "-" slug "}"
}

# A title is shown in menus, where only characters are.
function plain(text) {
  gsub(/[`$]/, "", text)
  gsub(/\*\*/, "", text)
  text = escaped(text)
  gsub(/&quot;/, "\"", text)
  return text
}

# As GitHub makes an anchor of a heading, whose letters outside of ASCII are left out here.
function slug_of(text) {
  text = tolower(text)
  gsub(/\]\([^)]*\)/, "", text)
  gsub(/[^a-z0-9_ -]/, "", text)
  gsub(/ /, "-", text)
  return text
}

# ---- what is in a line ----

function inline(text,    out, c, two, rest, end, close_at, inner) {
  out = ""
  while (text != "") {
    if (display) {
      end = index(text, "$$")
      if (end == 0) return out text
      out = out substr(text, 1, end - 1) "\\f]"
      text = substr(text, end + 2)
      display = 0
      continue
    }
    # Up to the next character that may mean something.
    if (match(text, /[`$!<>\[\\@%#&|~"*-]/) == 0) return out glued(text, out)
    if (RSTART > 1) {
      inner = substr(text, 1, RSTART - 1)
      text = substr(text, RSTART)
      out = out glued(inner, out)
      if (text ~ /^%/ && out ~ /[0-9] $/) sub(/ $/, "\\&nbsp;", out)
    }
    c = substr(text, 1, 1)
    two = substr(text, 1, 2)
    if (c == "`" && (end = span_end(text))) {
      out = out (length(span_text) <= 20 ? "<code class=\"short\">" : "<code>") code_words(span_text) "</code>"
      text = substr(text, end)
    } else if (two == "$$") {
      out = out "\\f["
      text = substr(text, 3)
      display = 1
    } else if (c == "$" && (end = formula_end(text))) {
      inner = substr(text, 2, end - 2)
      if (in_row) gsub(/\\\|/, "\\vert ", inner)
      text = substr(text, end + 1)
      if (in_heading) out = out "\\f$" inner "\\f$"
      else {
        rest = sub(/\($/, "", out) ? "(" : ""
        out = out "\\htmlonly" formula(inner, rest, text) "\\endhtmlonly"
        text = substr(text, 1 + formula_tail)
      }
    } else if (two == "![" && (close_at = link_close(substr(text, 2)))) {
      out = out picture(substr(text, 3, close_at - 2), link_target)
      text = substr(text, 2 + link_end)
    } else if (c == "[" && (close_at = link_close(text))) {
      inner = substr(text, 2, close_at - 2)
      rest = substr(text, 1 + link_end)
      out = out link(inner, link_target)
      text = rest
    } else if (c == "*" && (end = emphasis_end(text, two == "**" ? "**" : "*", out))) {
      rest = two == "**" ? "b" : "em"
      inner = substr(text, 1 + length(emphasis), end - 1 - length(emphasis))
      text = substr(text, end + length(emphasis))
      out = out "<" rest ">" inline(inner) "</" rest ">"
    } else if (c == "*" && !(out ~ /(^|\n) *$/ && text ~ /^\* /)) {
      out = out "\\*"
      text = substr(text, 2)
    } else if (text ~ /^<details/) {
      end = index(text, "</summary>")
      inner = substr(text, 1, end - 1)
      sub(/^<details[^>]*>[ \n]*<summary>/, "", inner)
      out = out "\\htmlonly[block]<details><summary>" html(inner) "</summary>\\endhtmlonly\n"
      text = substr(text, end + 10)
    } else if (text ~ /^<\/details>/) {
      out = out "\n\n\\htmlonly[block]</details>\\endhtmlonly\n\n"
      text = substr(text, 11)
    } else if (text ~ /^<https?:[^ >]*>/) {
      end = index(text, ">")
      inner = substr(text, 2, end - 2)
      out = out "<a href=\"" inner "\">" escaped(inner) "</a>"
      text = substr(text, end + 1)
    } else if (c == "<" && (end = tag_end(text))) {
      out = out substr(text, 1, end)
      text = substr(text, end + 1)
    } else if (c == "\\" && text ~ /^\\[^a-zA-Z0-9 \n]/) {
      out = out (index("$~", substr(text, 2, 1)) ? substr(text, 2, 1) : two)
      text = substr(text, 3)
    } else if (c == ">" && out ~ /(^|\n) *$/) { # a quotation
      out = out c
      text = substr(text, 2)
    } else if (c == "|" || c == "!" || c == "$" || c == "~" || c == "*" || (c == "-" && two != "--")) {
      out = out c
      text = substr(text, 2)
    } else if (two == "--") {
      if (match(text, /^--+ *(\n|$)/) && out ~ /(^|\n) *$/) { # a rule across the page
        out = out substr(text, 1, RLENGTH)
        text = substr(text, RLENGTH + 1)
      } else {
        out = out "\\--"
        text = substr(text, 3)
      }
    } else {
      out = out escaped(c)
      text = substr(text, 2)
    }
  }
  return out
}

# Plain text, in which no line ends within a number (131 072), within a pair of them, (1, −2), or before "+ 1"; before: what stands in front of it.
function glued(text, before,    out, at, run) {
  while (match(text, / (\+|−) [0-9]/)) {
    at = RSTART
    run = at == 1 ? before : substr(text, 1, at - 1)
    if (run == "" || run ~ /[ \n|]$/) {
      out = out substr(text, 1, at)
      text = substr(text, at + 1)
    } else {
      out = out substr(text, 1, at - 1) "&nbsp;" substr(text, at + 1, RLENGTH - 3) "&nbsp;"
      text = substr(text, at + RLENGTH - 1)
    }
  }
  text = out text
  out = ""
  while (match(text, /\((−)?[0-9][0-9\/]*, (−)?[0-9]/)) { # a pair of numbers
    run = substr(text, RSTART, RLENGTH)
    out = out substr(text, 1, RSTART - 1)
    text = substr(text, RSTART + RLENGTH)
    sub(/, /, ",\\&nbsp;", run)
    out = out run
  }
  text = out text
  out = ""
  while (match(text, /[0-9] [0-9][0-9][0-9]/)) {
    at = RSTART
    run = substr(text, 1, at)
    if (substr(text, at + 5, 1) !~ /[0-9]/ && (run ~ /(^|[^0-9.,])[1-9][0-9]?[0-9]?$/ || (out ~ /&nbsp;$/ && at == 3))) run = run "&nbsp;"
    else run = run " "
    out = out run
    text = substr(text, at + 2)
  }
  return out text
}

# Of a text that begins with a code span: sets span_text, and returns where what follows it begins; 0: it is none.
function span_end(text,    ticks, rest, at, run) {
  match(text, /^`+/)
  ticks = RLENGTH
  rest = substr(text, ticks + 1)
  at = 1
  while (match(rest, /`+/)) {
    if (RLENGTH == ticks) {
      span_text = substr(text, ticks + 1, at + RSTART - 2)
      gsub(/\n/, " ", span_text)
      if (ticks > 1) gsub(/^ | $/, "", span_text)
      if (in_row) gsub(/\\\|/, "|", span_text)
      return ticks + at + RSTART - 1 + ticks
    }
    run = RSTART + RLENGTH
    at += run - 1
    rest = substr(rest, run)
  }
  return 0
}

# Of a text that begins with $: where the formula's other dollar stands; 0: it is no formula.
function formula_end(text,    i, c) {
  if (text ~ /^\$[ \n]/) return 0
  for (i = 2; i <= length(text); ++i) {
    c = substr(text, i, 1)
    if (c == "\\") ++i
    else if (c == "$") return i > 2 && substr(text, i - 1, 1) != " " ? i : 0
  }
  return 0
}

# A formula in a line as HTML, on one line with the bracket before it and with what follows it without a blank: in a browser a
# line may end on either side of a formula. (Doxygen's own mark for a formula puts a blank before it, also behind a bracket.)
# Sets formula_tail to how many characters of the text behind it are in it.
function formula(inner, before, behind,    tail) {
  match(behind, /^(-[a-z]+|'[a-z]+)?[,.;:)?!]*/)
  formula_tail = RLENGTH
  tail = substr(behind, 1, formula_tail)
  inner = before "\\(" html_characters(inner) "\\)" tail
  return before tail == "" ? inner : "<span class=\"formula\">" inner "</span>"
}

# Of a text that begins with * or **, the mark: sets emphasis to it, and returns where the closing one stands; 0: there is none.
function emphasis_end(text, mark, before,    i, c, end) {
  emphasis = mark
  if (substr(text, 1 + length(mark), 1) ~ /^[ \n*]?$/ || (mark == "*" && before ~ /[a-zA-Z0-9]$/)) return 0
  for (i = 1 + length(mark); i <= length(text); ++i) {
    c = substr(text, i, 1)
    if (c == "`" && (end = span_end(substr(text, i)))) i += end - 2
    else if (c == "$" && (end = formula_end(substr(text, i)))) i += end - 1
    else if (c == "\\") ++i
    else if (c == "*" && substr(text, i - 1, 1) !~ /[ \n]/) {
      if (mark == "**" && substr(text, i, 2) == "**") return i
      if (mark == "*" && substr(text, i, 2) != "**") return i
      if (mark == "*") ++i
    }
  }
  return 0
}

# Of a text that begins with [: where the bracket closes, if a target in parentheses follows: sets link_target, and link_end to
# where that ends. 0: it is no link.
function link_close(text,    i, depth, c, end, rest) {
  depth = 0
  for (i = 1; i <= length(text); ++i) {
    c = substr(text, i, 1)
    if (c == "`" && (end = span_end(substr(text, i)))) i += end - 2
    else if (c == "\\") ++i
    else if (c == "[") ++depth
    else if (c == "]" && --depth == 0) break
  }
  if (depth || substr(text, i + 1, 1) != "(") return 0
  rest = substr(text, i + 2)
  if (match(rest, /^[^ )\n]*(\([^ )\n]*\))?[^ )\n]*\)/) == 0) return 0
  link_target = substr(rest, 1, RLENGTH - 1)
  link_end = i + 1 + RLENGTH
  return i
}

function tag_end(text,    name) {
  if (match(text, /^<\/?[a-zA-Z]+[^<>]*>/) == 0) return 0
  name = substr(text, 1, RLENGTH)
  gsub(/^<\/?/, "", name)
  gsub(/[^a-zA-Z].*/, "", name)
  return index(html_tags, " " tolower(name) " ") ? RLENGTH : 0
}

function escaped(text,    out, i, c) {
  out = ""
  for (i = 1; i <= length(text); ++i) {
    c = substr(text, i, 1)
    if (c == "<") c = "&lt;"
    else if (c == ">") c = "&gt;"
    else if (c == "&") c = substr(text, i) ~ /^&#?[a-zA-Z0-9]+;/ ? c : "&amp;"
    else if (c == "\"") c = "&quot;"
    else if (index("\\@%#[", c)) c = "\\" c
    out = out c
  }
  return out
}

# A span of code. No line ends within an option; in a table, a long name may go on in the next line behind a sign or a hump.
# Doxygen takes no such marks within a link.
function code_words(text,    words, count, i, out) {
  if (in_link) return escaped_code(text)
  count = split(text, words, / /)
  for (i = 1; i <= count; ++i) {
    if (i > 1) out = out " "
    if (words[i] ~ /^--?[a-zA-Z]/ && length(words[i]) <= 24) out = out "<span class=\"option\">" escaped_code(words[i]) "</span>"
    else out = out (in_row ? in_parts(words[i]) : escaped_code(words[i]))
  }
  return out
}

function in_parts(word,    out, from, i, two) {
  from = 1
  for (i = 8; i <= length(word) - 4; ++i) {
    two = substr(word, i, 2)
    if (i - from < 7 || two !~ /[_\/][^_\/]|:[^:]|[a-z][A-Z]/) continue
    out = out "<span class=\"part\">" escaped_code(substr(word, from, i + 1 - from)) "</span>"
    from = i + 1
  }
  word = escaped_code(substr(word, from))
  return from == 1 ? word : out "<span class=\"part\">" word "</span>"
}

function escaped_code(text,    out, i, c) {
  out = ""
  for (i = 1; i <= length(text); ++i) {
    c = substr(text, i, 1)
    if (c == "<") c = "&lt;"
    else if (c == ">") c = "&gt;"
    else if (c == "&") c = "&amp;"
    else if (c == "\"") c = "&quot;"
    else if (substr(text, i, 2) == "--") {
      c = "\\--"
      ++i
    } else if (substr(text, i, 2) == "::") {
      c = "\\::"
      ++i
    } else if (index("\\@%#[]`*_|~$", c)) c = "\\" c
    out = out c
  }
  return out
}

# ---- the same as HTML, for what Doxygen copies unseen: the line that a folded part shows ----

function html(text,    out, end, close_at, inner) {
  out = ""
  while (match(text, /[`$<>&\[*]/)) {
    inner = substr(text, 1, RSTART - 1)
    text = substr(text, RSTART)
    out = out glued(inner, out)
    if (text ~ /^`/ && (end = span_end(text))) {
      out = out "<code>" html_characters(span_text) "</code>"
      text = substr(text, end)
    } else if (text ~ /^\$/ && (end = formula_end(text))) {
      inner = substr(text, 2, end - 2)
      text = substr(text, end + 1)
      end = sub(/\($/, "", out) ? "(" : ""
      out = out formula(inner, end, text)
      text = substr(text, 1 + formula_tail)
    } else if (text ~ /^\[/ && (close_at = link_close(text))) {
      inner = substr(text, 2, close_at - 2)
      text = substr(text, 1 + link_end)
      end = url_of(link_target)
      out = out (end == "" ? html(inner) : "<a href=\"" end "\">" html(inner) "</a>")
    } else if (match(text, /^\*\*[^*]+\*\*/)) {
      end = RLENGTH
      out = out "<b>" html(substr(text, 3, end - 4)) "</b>"
      text = substr(text, end + 1)
    } else if (match(text, /^\*[^* ][^*]*\*/)) {
      end = RLENGTH
      out = out "<em>" html(substr(text, 2, end - 2)) "</em>"
      text = substr(text, end + 1)
    } else if (text ~ /^</ && (end = tag_end(text))) {
      out = out substr(text, 1, end)
      text = substr(text, end + 1)
    } else {
      out = out (text ~ /^&#?[a-zA-Z0-9]+;/ ? "&" : html_characters(substr(text, 1, 1)))
      text = substr(text, 2)
    }
  }
  return out glued(text, out)
}

function html_characters(text) {
  gsub(/&/, "\\&amp;", text)
  gsub(/</, "\\&lt;", text)
  gsub(/>/, "\\&gt;", text)
  gsub(/"/, "\\&quot;", text)
  return text
}

# ---- links ----

function link(text, target,    url) {
  url = url_of(target)
  if (url == "") return inline(text)
  in_link = 1
  text = inline(text)
  in_link = 0
  return "<a href=\"" url "\">" text "</a>"
}

# The picture is wrapped so that the style can lay a light ground under it, as its colours need.
function picture(alternative, target,    path) {
  if (target ~ /^[a-z]+:/) {
    complain("a picture from another machine: " target)
    return ""
  }
  path = resolved(target)
  if (!exists(path)) {
    if (strict) complain("a picture that does not exist: " target)
    return ""
  }
  if (alternative !~ /[a-zA-Z]/) complain("a picture without alternative text: " target)
  print path >> (linked ".pictures")
  gsub(/\n/, " ", alternative)
  return "\\htmlonly<span class=\"figure\"><img src=\"pictures/" path "\" alt=\"" html_characters(alternative) "\"></span>\\endhtmlonly"
}

# Where a link leads in the site; empty: nowhere, which is right in a handout alone.
function url_of(target,    at, path, anchor) {
  gsub(/\n/, "", target)
  if (target ~ /^[a-z]+:/) {
    gsub(/"/, "%22", target)
    return target
  }
  at = index(target, "#")
  anchor = at ? substr(target, at + 1) : ""
  path = at == 1 ? file : resolved(at ? substr(target, 1, at - 1) : target)
  if (path in address) {
    if (path ~ /\.md$/ && anchor != "") return address[path] "#" page_id(path) "-" anchor
    return address[path] (anchor == "" ? "" : "#" anchor)
  }
  if (!exists(path)) {
    if (strict) complain("a link to what does not exist: " target)
    return ""
  }
  print path >> linked
  return file_page(path)
}

function page_id(path,    name) {
  name = address[path]
  sub(/\.html$/, "", name)
  return name
}

function file_page(path) {
  gsub(/[^a-zA-Z0-9]/, "_", path)
  return "file_" path ".html"
}

function resolved(target,    parts, count, i, depth, kept, path) {
  count = split((folder == "" ? "" : folder "/") target, parts, "/")
  depth = 0
  for (i = 1; i <= count; ++i) {
    if (parts[i] == "..") --depth
    else if (parts[i] != "." && parts[i] != "") kept[++depth] = parts[i]
  }
  path = ""
  for (i = 1; i <= depth; ++i) path = path (i > 1 ? "/" : "") kept[i]
  return path
}

function parent(path) {
  return sub(/\/[^\/]*$/, "", path) ? path : ""
}

function exists(path,    line, found) {
  if (path in known) return known[path]
  found = (getline line < (root "/" path)) >= 0
  close(root "/" path)
  return known[path] = found
}

function complain(what) {
  print file ":" NR ": " what > "/dev/stderr"
  failed = 1
}
