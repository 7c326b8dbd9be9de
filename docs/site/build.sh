#!/usr/bin/env bash
# Builds the course's site: a page for each of its texts, made by Doxygen, with all that a browser needs beside it.
#   docs/site/build.sh [DIR]      writes DIR/html (by default build/docs/html) and prints the path of its first page
# Exit 1: a warning, shown; 3: a tool is missing. ./course docs installs the tools and calls this.
# The texts stay plain Markdown for a code host: markdown.awk turns them into what Doxygen reads. It is awk, which every
# system of the course has, so that neither Python nor a compiled program stands between a text and its page.
set -euo pipefail
here=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
root=$(cd -P -- "$here/../.." && pwd)

case ${1:-} in -*)
  echo "course: docs takes one argument, the folder to write to; it has no option $1" >&2
  exit 2
  ;;
esac
mkdir -p "${1:-$root/build/docs}"
out=$(cd -P -- "${1:-$root/build/docs}" && pwd)
work=$out/made
pages=$work/pages
html=$out/html
share=${COURSE_SHARE:-/usr/share}
mathjax=$share/javascript/mathjax
awesome=$share/doxygen-awesome-css

missing() {
  echo "course: the site needs $1" >&2
  exit 3
}
for tool in doxygen dot cmake awk; do command -v "$tool" >/dev/null || missing "$tool, which was not found"; done
[ -f "$mathjax/jax/output/SVG/jax.js" ] || missing "MathJax 2 in $mathjax; COURSE_SHARE names another folder than $share"

# A handout holds a part of the course: there a link may lead nowhere, and becomes plain text.
strict=0
[ ! -d "$root/tests/docs" ] || strict=1

rm -rf "$work" "$html"
mkdir -p "$pages"
cd "$root"

# ---- which pages there are: a table of path, address, title and kind ----

title_of() { awk '/^# / { sub(/^# +/, ""); gsub(/[`$]/, ""); print; exit }' "$1"; }

# Adds the files given to the table as pages of a kind; the address is KIND_NAME.html.
add_pages() {
  local kind=$1 file name
  shift
  for file in "$@"; do
    [ -f "$file" ] || continue
    name=$(basename "$file" .md)
    printf '%s\t%s\t%s\t%s\n' "$file" "${kind}_${name//[^a-zA-Z0-9]/_}.html" "$(title_of "$file")" "$kind"
  done
}

add_lessons() {
  local id folder title file part teaches ground
  while IFS='|' read -r id folder title part teaches ground; do
    printf '%s\t%s\t%s\t%s\n' "lessons/$folder/README.md" "lesson_$id.html" "$id · $title" lesson
    for file in "lessons/$folder"/*.hpp; do
      printf '%s\t%s\t%s\t%s\n' "$file" "group__contract$id.html" "$id · $(basename "$file")" contract
    done
    for file in "lessons/$folder"/*.md; do
      case $file in */README.md | */hints.md) continue ;; esac
      printf '%s\t%s\t%s\t%s\n' "$file" "lesson_${id}_$(basename "$file" .md).html" "$(title_of "$file")" aside
    done
    [ ! -f "solutions/$folder/why.md" ] ||
      printf '%s\t%s\t%s\t%s\n' "solutions/$folder/why.md" "solution_$id.html" "$id · Solution: $title" solution
  done < <(cut -f 1-3 "$work/lessons.tsv" | tr '\t' '|')
}

cmake -D REGISTRY=lessons/registry.json -D "TABLE=$work/lessons.tsv" -P "$here/lessons.cmake"
{
  printf 'README.md\tindex.html\tHome\thome\n'
  printf 'lessons\tchapters.html\tChapters\tindex\n'
  printf 'docs/visualizer/index.html\tvisualizer/index.html\tVisualizer\tvisualizer\n'
  add_lessons
  add_pages primer docs/primers/{attention,mpi,cuda}.md
  for file in docs/primers/*.md; do
    case $file in */attention.md | */mpi.md | */cuda.md) ;; *) add_pages primer "$file" ;; esac
  done
  [ ! -f docs/notation.md ] || printf 'docs/notation.md\tnotation.html\t%s\tnotation\n' "$(title_of docs/notation.md)"
  [ ! -f docs/interview/README.md ] || printf 'docs/interview/README.md\tinterviews.html\tInterview bank\tnotation\n'
  [ ! -f docs/interview/sheet/README.md ] ||
    printf 'docs/interview/sheet/README.md\tinterview_sheet.html\t%s\tinterview\n' "$(title_of docs/interview/sheet/README.md)"
  for file in docs/interview/*.md; do
    case $file in */README.md) ;; *) add_pages interview "$file" ;; esac
  done
  for file in docs/*.md; do
    case $file in docs/notation.md) ;; *) add_pages guide "$file" ;; esac
  done
  for file in common/data/README.md common/gradescope/README.md tests/corpus/README.md tests/ledger/README.md; do
    [ ! -f "$file" ] || printf '%s\t%s\t%s\t%s\n' "$file" "aside_$(dirname "$file" | tr -c 'a-zA-Z0-9\n' _).html" "$(title_of "$file")" aside
  done
} >"$work/pages.tsv"

# Prints "address|title" of each page of a kind, in the order of the table.
pages_of() { awk -F '\t' -v kind="$1" '$4 == kind { print $2 "|" $3 }' "$work/pages.tsv"; }

# ---- texts ----

# Page $1 of the course as Doxygen reads it, on stdout; more options for awk may follow.
convert() {
  awk -v file="$1" -v root="$root" -v pages="$work/pages.tsv" -v linked="$work/linked" -v strict=$strict "${@:2}" -f "$here/markdown.awk" "$1"
}

listing() { # the command that shows a file
  case $1 in *.hpp | *.cpp | *.cu | *.h | *.py) printf '\\include{lineno} %s\n' "$1" ;; *) printf '\\verbinclude %s\n' "$1" ;; esac
}

# A folded file, as on the pages of solutions: without the marks that skeletons are cut by.
folded() {
  mkdir -p "$work/shown/${1%/*}"
  sed -E '/^ *(\/\/|#)[>|<]/d' "$1" >"$work/shown/$1"
  printf '\n\\htmlonly[block]<details><summary><code>%s</code></summary>\\endhtmlonly\n\n%s\n\n\\htmlonly[block]</details>\\endhtmlonly\n' "$1" "$(listing "shown/$1")"
}

# The way to the chapters before and after, and to a chapter's solution.
chapter_links() {
  awk -F '\t' -v page="$1" -v solution="$2" '
    $4 == "lesson" { address[++n] = $2; title[n] = $3; if ($1 == page) at = n }
    $1 == solution { answer = $2 }
    END {
      printf "\n\\htmlonly[block]<nav class=\"chapters\">"
      if (at > 1) printf "<a href=\"%s\">← %s</a>", address[at - 1], title[at - 1]
      printf "<a href=\"chapters.html\">All chapters</a>"
      if (answer != "") printf "<a href=\"%s\">The solution</a>", answer
      if (at < n) printf "<a href=\"%s\">%s →</a>", address[at + 1], title[at + 1]
      print "</nav>\\endhtmlonly"
    }' "$work/pages.tsv"
}

# A contract is a group of its own: on its page is what the lesson'"'"'s header declares, and nothing else.
contract() {
  local id=$1 file=$2
  # In place of the line #pragma once and the empty one, so that lines keep their numbers.
  printf '/** \\defgroup contract%s %s · %s\n * What <a href="lesson_%s.html">chapter %s</a> asks for; as a file: <a href="file_%s.html">%s</a>. */\n' \
    "$id" "$id" "$(basename "$file")" "$id" "$id" "${file//[^a-zA-Z0-9]/_}" "$file"
  sed "1,2d; s|^namespace lesson$id {|& /** @addtogroup contract$id */ /** @{ */|; s|^} *// namespace lesson$id|/** @} */ &|
    s|^/// Task \([0-9]*\)\. |/// Task \1: |" "$file"
  echo "$file" >>"$work/linked"
}

: >"$work/linked"
: >"$work/linked.pictures"
failed=''
while IFS='|' read -r path address title kind; do
  # With % for /: Doxygen lists folders, and those of texts are not to be among those of headers.
  text=$pages/${path//\//%}
  case $kind in
    lesson) { convert "$path" -v toc=1 -v title="$title" && chapter_links "$path" "solutions/$(basename "$(dirname "$path")")/why.md"; } >"$text" || failed=yes ;;
    contract) mkdir -p "$pages/${path%/*}" && contract "${address:15:2}" "$path" >"$pages/$path" ;;
    solution)
      {
        convert "$path" -v title="$title" || failed=yes
        for file in "${path%/*}"/*; do [ "$file" = "$path" ] || folded "$file"; done
      } >"$text"
      ;;
    index | visualizer) ;;
    home) convert "$path" >"$text" || failed=yes ;;
    *) convert "$path" -v toc=1 >"$text" || failed=yes ;;
  esac
done < <(tr '\t' '|' <"$work/pages.tsv")
[ -z "$failed" ] || exit 1

sort -u "$work/linked" | while IFS= read -r path; do
  name=file_${path//[^a-zA-Z0-9]/_}
  printf '# %s {#%s}\n\n' "$path" "$name"
  if [ -d "$path" ]; then
    printf 'The folder holds:\n\n'
    for file in "$path"/*; do printf -- '- <code>%s</code>\n' "$(basename "$file" | sed 's/_/\\_/g')"; done
  else
    listing "$path"
  fi >"$pages/$name.body"
  cat "$pages/$name.body"
  rm "$pages/$name.body"
done | awk -v folder="$pages" '/^# .* \{#file_/ { name = $0; sub(/.*\{#/, "", name); sub(/\}.*/, "", name) } { print > (folder "/" name ".md") }'

# ---- pages of the site alone ----

list_page() { # a page that lists those of a kind: KIND ADDRESS TITLE TEXT
  printf '# %s {#%s}\n\n%s\n\n' "$3" "$2" "$4"
  pages_of "$1" | while IFS='|' read -r address title; do printf -- '- <a href="%s">%s</a>\n' "$address" "$title"; done
}

awk -F '\t' '
  BEGIN { print "# Chapters {#chapters}\n\nIn this order each chapter has what it needs from those before it; the <a href=\"lesson_map.html\">lesson map</a> shows what builds on what.\n" }
  $4 != part { part = $4; print "\n**" part "**\n\n| | chapter | what it teaches |\n| --- | --- | --- |" }
  { print "| " $1 " | <a href=\"lesson_" $1 ".html\">" $3 "</a> | " $5 " |" }' "$work/lessons.tsv" >"$pages/chapters.md"

for names in numbers titles; do
  awk -v names=$names -f "$here/map.awk" "$work/lessons.tsv" | dot -Tsvg | sed -n '/<svg/,$p' |
    sed "s/<svg width=\"[^\"]*\" height=\"[^\"]*\"/<svg class=\"$names\" role=\"img\" aria-label=\"What builds on what; the list below says the same\"/; s/id=\"/id=\"$names-/" >"$work/map-$names.svg"
done
{
  printf '# Lesson map {#lesson_map}\n\nAn arrow leads from a chapter to one that builds on it. Each box is a link.\n\n'
  printf '\\htmlonly[block]<div class="map">\\endhtmlonly\n\\htmlinclude[block] map-numbers.svg\n\\htmlinclude[block] map-titles.svg\n\\htmlonly[block]</div>\\endhtmlonly\n\n'
  awk -F '\t' '
    { title[$1] = $3 }
    function to(id) { return "<a href=\"lesson_" id ".html\">" id " · " title[id] "</a>" }
    {
      n = split($6, ground, " ")
      printf "- %s", to($1)
      for (i = 1; i <= n; ++i) printf "%s%s", (i == 1 ? " builds on " : (i == n ? " and " : ", ")), to(ground[i])
      print ""
    }' "$work/lessons.tsv"
} >"$pages/lesson_map.md"

list_page contract contracts Contracts 'What each lesson asks for: its header, with shapes, errors and formulas.' >"$pages/contracts.md"
list_page guide guides Guides 'How the course works, and how to add to it.' >"$pages/guides.md"
[ -z "$(pages_of primer)" ] || list_page primer primers Primers 'What the chapters take for granted.' >"$pages/primers.md"
[ -z "$(pages_of interview)" ] || [ -f docs/interview/README.md ] || list_page interview interviews 'Interview bank' 'Questions with their answers folded.' >"$pages/interviews.md"
[ -z "$(pages_of solution)" ] || list_page solution solutions Solutions 'Each with its reasons. Write your own first.' >"$pages/solutions.md"

# ---- the frame: menu, head and foot of every page, style ----

xml() { sed 's/&/\&amp;/g; s/</\&lt;/g; s/"/\&quot;/g'; }

tabs() { # the tabs of a kind, as a group with a page of its own: KIND ADDRESS TITLE
  [ -n "$(pages_of "$1")" ] || return 0
  printf '<tab type="usergroup" url="%s" title="%s">\n' "$2" "$3"
  pages_of "$1" | sed 's/ · Solution: / · /' | xml | while IFS='|' read -r address title; do
    printf '<tab type="user" url="%s" title="%s"/>\n' "$address" "$title"
  done
  echo '</tab>'
}

{
  echo '<navindex>'
  echo '<tab type="mainpage" visible="yes" title="Home"/>'
  echo '<tab type="usergroup" url="chapters.html" title="Chapters">'
  xml <"$work/lessons.tsv" | awk -F '\t' '
    $4 != part { if (part) print "</tab>"; part = $4; print "<tab type=\"usergroup\" url=\"[none]\" title=\"" part "\">" }
    { print "<tab type=\"user\" url=\"lesson_" $1 ".html\" title=\"" $1 " · " $3 "\"/>" }
    END { if (part) print "</tab>" }'
  echo '</tab>'
  echo '<tab type="user" url="lesson_map.html" title="Lesson map"/>'
  tabs primer primers.html Primers
  [ ! -f docs/notation.md ] || echo '<tab type="user" url="notation.html" title="Notation"/>'
  tabs interview interviews.html 'Interview bank'
  echo '<tab type="user" url="visualizer/index.html" title="Visualizer"/>'
  tabs guide guides.html Guides
  tabs contract contracts.html Contracts
  tabs solution solutions.html Solutions
  echo '<tab type="usergroup" url="[none]" title="The code of common/"><tab type="filelist" visible="yes" title="Headers"/><tab type="classlist" visible="yes" title="Classes"/><tab type="namespacelist" visible="yes" title="Namespaces"/></tab>'
  echo '</navindex>'
} >"$work/navindex.xml"
doxygen -l "$work/layout.default.xml"
awk -v menu="$work/navindex.xml" '
  /<navindex>/ { while ((getline line < menu) > 0) print line; skipping = 1 }
  # Of a class whose nested classes are private Doxygen 1.9.4 links to a list of them that it does not write.
  /<nestedclasses / { sub(/visible="yes"/, "visible=\"no\"") }
  !skipping { print }
  /<\/navindex>/ { skipping = 0 }' "$work/layout.default.xml" >"$work/layout.xml"

styles='' scripts=''
head=''
if [ -d "$awesome" ]; then
  cp "$awesome"/*.css "$awesome/doxygen-awesome-darkmode-toggle.js" "$work"
  styles='doxygen-awesome.css doxygen-awesome-sidebar-only.css doxygen-awesome-sidebar-only-darkmode-toggle.css'
  scripts=doxygen-awesome-darkmode-toggle.js
  # shellcheck disable=SC2016  # expanded by Doxygen
  head='<script src="$relpath^doxygen-awesome-darkmode-toggle.js"></script><script>DoxygenAwesomeDarkModeToggle.init()</script>'
fi
(cd "$work" && doxygen -w html header.default.html footer.default.html style.default.css)
awk -v head="$head" '/<\/head>/ { print head } { print }' "$work/header.default.html" >"$work/header.html"
printf '</body>\n</html>\n' >"$work/footer.html"

# ---- the site ----

cp "$here/site.css" "$here/mathjax.js" "$here/headers.awk" "$work"
for name in *; do case $name in build) ;; *) [ -e "$work/$name" ] || ln -s "$root/$name" "$work/$name" ;; esac done
{
  cat "$here/Doxyfile"
  echo "HTML_EXTRA_STYLESHEET = $styles site.css"
  echo "HTML_EXTRA_FILES = $scripts"
  # Since 1.9.5 Doxygen has a dark style of its own, which is in the way of the other.
  ! doxygen -g - | grep -q '^HTML_COLORSTYLE ' || echo 'HTML_COLORSTYLE = LIGHT'
} >"$work/Doxyfile"
(cd "$work" && doxygen Doxyfile)
if [ -s "$work/warnings" ]; then
  sed "s|$pages/||g; s|$work/||g; s|%|/|g" "$work/warnings" >&2
  exit 1
fi
mv "$work/html" "$html"
# What makes a group of a contract is not in the file.
grep -l 'defgroup contract' "$html"/*_8hpp_source.html | while IFS= read -r page; do
  sed -E 's|<span class="comment">/\*\* \\defgroup contract.*</span>|<span class="preprocessor">#pragma once</span>|
    /<span class="comment"> \* What .*chapter [0-9]+.* asks for;/s|<span class="comment">.*</span>||
    s| <span class="comment">/\*\* @addtogroup [a-z0-9]* \*/</span> <span class="comment">/\*\* @\{ \*/</span>||
    s|<span class="comment">/\*\* @\} \*/</span> ||' "$page" >"$work/page.html"
  cp "$work/page.html" "$page"
done
# Of each text Doxygen makes a page as of a file, too, with nothing on it: nobody is to find it.
rm -f "$html"/*_8md.html
for list in "$html"/search/*.js; do
  grep -q '_8md\.html' "$list" || continue
  sed '/_8md\.html/d' "$list" >"$work/list.js"
  cp "$work/list.js" "$list"
done
# Its list of names stands in a frame with a style of its own.
printf 'body.SRPage * { font-size: 10pt; }\n.SRResult { padding: 3px 0; line-height: 1.3; }\n' >>"$html/search/search.css"
texts=()
while IFS=$'\t' read -r path address _ kind; do
  if [ "$kind" != index ] && [ "$kind" != visualizer ]; then
    # A page without a list of its headings is wider.
    case $kind in home | solution) room=112 ;; *) room=84 ;; esac
    LC_ALL=C awk -v room=$room -f "$here/page.awk" "$html/$address" >"$work/page.html"
    cp "$work/page.html" "$html/$address"
  fi
  # Of a contract there is no more to say than its first sentence, which Doxygen says twice.
  if [ "$kind" = contract ]; then
    sed -e 's| *<a href="#details">More\.\.\.</a></p>$|</p>|' -e '/^<a name="details" id="details"><\/a>.*Detailed Description<\/h2>$/,/<\/p>$/d' "$html/$address" >"$work/page.html"
    cp "$work/page.html" "$html/$address"
  fi
  # Contracts are folders there, and Doxygen has their names.
  [ ! -f "$pages/${path//\//%}" ] || texts+=("$pages/${path//\//%}")
done <"$work/pages.tsv"
awk -v search="$html/search" -f "$here/search.awk" "${texts[@]}"
# A page that the menu does not have stands where its readers come from, or the menu would be shut.
for page in "$html"/aside_*.html "$html"/file_[a-z]*.html; do
  [ -f "$page" ] || continue
  name=$(basename "$page")
  case $name in
    file_lessons_[0-9][0-9]_*) place=lesson_${name:13:2}.html ;;
    file_docs_primers_*) place=primers.html ;;
    aside_*) place=guides.html ;;
    *) place=index.html ;;
  esac
  sed "s/initNavTree('$name'/initNavTree('$place'/" "$page" >"$work/page.html"
  cp "$work/page.html" "$page"
done

sort -u "$work/linked.pictures" | while IFS= read -r path; do
  mkdir -p "$html/pictures/$(dirname "$path")"
  cp "$path" "$html/pictures/$path"
done
mkdir -p "$html/visualizer"
cp docs/visualizer/*.html docs/visualizer/*.css docs/visualizer/*.js "$html/visualizer/"
# Of MathJax what these pages load.
(cd "$mathjax" && tar -chf - MathJax.js extensions jax/element jax/input/TeX jax/output/SVG/*.js jax/output/SVG/autoload jax/output/SVG/fonts/TeX) |
  (mkdir -p "$html/mathjax" && tar -xf - -C "$html/mathjax")
echo "$html/index.html"
