#!/usr/bin/env bash
# Builds the site and looks at it: no warning, no link or heading that is missing, no file of another machine, every chapter,
# every formula; then a handout's. Skipped where a tool is missing, unless nothing may be skipped (COURSE_NO_SKIP, CI).
set -uo pipefail
here=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
root=$(cd -P -- "$here/../.." && pwd)
# shellcheck source=tests/course/checks.sh
. "$here/../course/checks.sh"

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
mathjax=${COURSE_SHARE:-/usr/share}/javascript/mathjax/MathJax.js
if [ -z "$browser" ] || ! command -v doxygen >/dev/null || ! command -v dot >/dev/null || [ ! -f "$mathjax" ]; then
  echo 'doxygen, dot, MathJax or chromium is not on this machine'
  [ -z "${COURSE_NO_SKIP:-}${CI:-}" ] && exit 77
  exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Prints what is wrong with the links of the site $1, its menu's included.
wrong_links() {
  (
    cd "$1" || exit
    # What the menu links to, as a page beside the others.
    # shellcheck disable=SC2046  # no name has a blank
    grep -oE '"[^"]*\.html[^"]*"' menudata.js | sed 's/.*/<a href=& >/' |
      awk -f "$here/site_links.awk" - $(find . -name '*.html' ! -path './mathjax/*')
    grep -nE '@import|url\( *"?(https?:)?//' ./*.css search/*.css
  )
}

# ---- the site of this tree ----

about_failure() { cat "$work/log"; }
"$root/docs/site/build.sh" "$work/site" >"$work/out" 2>"$work/log"
check 'the site is built' is "$?" 0
check 'without a word' is "$(cat "$work/log")" ''
check 'and its first page is named' is "$(cat "$work/out")" "$work/site/html/index.html"
about_failure() { :; }
site=$work/site/html

check 'every link leads somewhere, and no page loads anything from another machine' is "$(wrong_links "$site")" ''
while IFS=$'\t' read -r id _ title part _; do
  check "chapter $id has its title" grep -qs "class=\"title\">$id · $title *<" "$site/lesson_$id.html"
  check "chapter $id is in the menu" grep -q "lesson_$id.html" "$site/menudata.js"
  check "chapter $id is on the map" grep -q "xlink:href=\"lesson_$id.html\"" "$site/lesson_map.html"
  check "chapter $id has a contract" grep -qs 'Function Documentation' "$site/group__contract$id.html"
  check "the part of chapter $id is there" grep -q "<b>$part</b>" "$site/chapters.html"
done <"$work/site/made/lessons.tsv"
check 'as many chapters as the registry has lessons' is "$(wc -l <"$work/site/made/lessons.tsv")" \
  "$(grep -c '^      "id"' "$root/lessons/registry.json")"
check 'no Markdown is left in a text' is \
  "$(cd "$site" && grep -lE '\\f[$[]|<p[^>]*>[^<]*(\*\*|\]\()' index.html lesson_*.html guide_*.html solution_*.html)" ''

# What the filter makes of a line, which is to be the third of a page.
filtered() { printf '# A title\n\n%s\n' "$1" | awk -v file=README.md -v root="$root" -v pages=/dev/null -v linked="$work/linked" -v strict=1 -f "$root/docs/site/markdown.awk" | tail -n +3; }
check 'a formula keeps the bracket and the stop beside it' is "$(filtered 'Here ($m < l$), and $n$.' | sed 's/\\[a-z]*htmlonly//g')" \
  'Here <span class="formula">(\(m &lt; l\)),</span> and <span class="formula">\(n\).</span>'
check 'no line ends within a number, a pair or an option' is "$(filtered '131 072 of them, (1/2, −3), 5 % at rank + 1, `./course check 05 --task 2`.')" \
  '131&nbsp;072 of them, (1/2,&nbsp;−3), 5&nbsp;\% at rank&nbsp;+&nbsp;1, <code>./course check 05 <span class="option">\--task</span> 2</code>.'
check 'indented code stays as it is' is "$(filtered '    ./course trace --ranks 3 <file')" '    ./course trace --ranks 3 <file'
check 'a number that comes to stand at the beginning of a line is no list' is "$(filtered 'There are
65. So there.')" 'There are
65\. So there.'
check 'and a list is one' is "$(filtered '1. One
2. Two')" '1. One
2. Two'
check 'a folded part is called what its summary says' is "$(filtered '<details><summary>Why can `MPI_Send` of 2 048 floats, then *one* `MPI_Recv`, hang?</summary>')" \
  '\htmlonly[block]<details><summary>Why can <code>MPI_Send</code> of 2&nbsp;048 floats, then <em>one</em> <code>MPI_Recv</code>, hang?</summary>\endhtmlonly'

# What page.awk makes of lines of a page.
looked_over() { printf '%s\n' "$1" | LC_ALL=C awk -v room=84 -f "$root/docs/site/page.awk"; }
check 'a long formula stands in pieces, which are cut outside of braces and brackets' is \
  "$(looked_over '<p class="formulaDsp">
\[ a_{i=0} = \left( b = c \right) = 2, \qquad d \leftarrow e = f \]
</p>')" '<p class="formulaDsp">
<span class="piece">\(\displaystyle  a_{i=0} = \left( b = c \right) \)</span>
<span class="piece">\(\displaystyle {}= 2, \)</span>
<span class="piece apart">\(\displaystyle  d \leftarrow e \)</span>
<span class="piece">\(\displaystyle {}= f \)</span>
</p>'
check 'a short formula stays whole' is "$(looked_over '<p class="formulaDsp"> \[ a = b \] </p>')" '<p class="formulaDsp"> \[ a = b \] </p>'
check 'the lines of a report are marked, and neither its tables nor code' is \
  "$(looked_over '<div class="fragment"><div class="line">FAIL  lesson01.1   looks like: a</div>
<div class="line">      3 of 9 inputs fail</div>
<div class="line">      bytes   written   sectors</div>
<div class="line">lesson 01: 0 of 2 tasks passed</div>
<div class="line">      sum += <span>x</span>;</div>
<div class="line">      y = sum;</div>' | grep -c 'class="line report"')" 3
check 'and what is wider than a chapter is marked, too' is \
  "$(looked_over "<div class=\"fragment\"><div class=\"line\">$(printf '█%.0s' {1..85})</div>
</div><!-- fragment -->" | grep -c 'fragment wider')" 1
check 'and nothing is lost of two pieces of code of which one begins where the other ends' is "$(looked_over '<div class="fragment"><div class="line">a</div>
</div><!-- fragment --><details><div class="fragment"><div class="line">b</div>
</div><!-- fragment --></details>')" '<div class="fragment"><div class="line">a</div>
</div><!-- fragment --><details><div class="fragment"><div class="line">b</div>
</div><!-- fragment --></details>'
check 'every page is closed as it is opened' is "$(cd "$site" && for page in index lesson_??.html guide_* interview_* solution_* primer_* notation group__*; do
  page=${page%.html}
  awk -v page="$page" '{ n += gsub(/<div[ >]/, "") - gsub(/<\/div>/, "") } END { if (n != 0) print page ": " n }' "$page.html"
done)" ''
check 'a page that the menu does not have stands where its readers come from' is \
  "$(cd "$site" && grep -ho "initNavTree('[a-z0-9_]*\.html" aside_*.html file_[a-z]*.html | sort -u | grep -vE "'(guides|index|primers|lesson_[0-9]{2})\.html")" ''
check 'no page has the path of a folder of this machine' is "$(cd "$site" && grep -lF "$work" ./*.html)" ''
check 'a header that is shown has its comments' grep -qs 'comment">/// Task 1' "$site"/file_lessons_01_*_hpp.html
check 'nor has it what makes a group of a contract' is "$(cd "$site" && grep -lE 'defgroup|addtogroup|@[{}]' ./*_8hpp_source.html)" ''
check 'no mark of a skeleton is in a solution' is "$(cd "$site" && grep -lE '>(//|#)[&>|]' solution_*.html)" ''
check 'a contract says once what asks for it' is "$(cd "$site" && grep -cE '^<p>What <a .*asks for;|href="#details"|Detailed Description' group__contract*.html | grep -v ':1$')" ''
check 'a contract shows a whole sentence where a product stands in it' is "$(cd "$site" && grep -lE '[a-z0-9] \. +<a [^>]*>More' group__contract*.html)" ''

check "the search's lists have one entry a line" is \
  "$(grep -hvE "^  \['[^']*',\[('[^']*'|,|\[|\]|[0-9])*\]\],?$" "$site"/search/all_*.js | sort -u)" $'[\n];\nvar searchData='
found() { cat "$site"/search/all_*.js | grep -c "^  \['$1_[0-9]*',\['[^']*',\['../$2'"; }
check 'the search finds a chapter by a word within its title' is "$(found softmax lesson_02.html)" 1
check 'and a heading' is "$(found 'softmax_20is_20for' 'lesson_01.html#lesson_01-what-a-softmax-is-for')" 1

# ---- the sheet on paper ----

# How many pages the sheet has on paper of this size.
printed_pages() {
  sed "s|</head>|<style>@page { size: $1 }</style></head>|" "$site/interview_sheet.html" >"$site/printed.html"
  timeout 120 "$browser" --headless --no-sandbox --disable-gpu --allow-file-access-from-files --virtual-time-budget=20000 \
    --no-pdf-header-footer --print-to-pdf="$work/sheet.pdf" "file://$site/printed.html" >/dev/null 2>&1
  rm "$site/printed.html"
  grep -a -cE '/Type */Page\b' "$work/sheet.pdf"
}
check 'the sheet is in the menu' grep -q interview_sheet.html "$site/menudata.js"
for size in A4 letter; do check "the sheet prints on two sides of $size" is "$(printed_pages $size)" 2; done

# ---- what each chapter's first line says of its length, and of what comes before it ----

# Prints the chapters whose minutes (120 words each) are off by more than a seventh of what they say, or whose lines (of the
# answer, without comments and empty ones) by more than a quarter.
misjudged() {
  local chapter folder said words lines
  for chapter in "$1"/lessons/*/README.md; do
    folder=$(basename "$(dirname "$chapter")")
    said=$(sed -nE '3s/.*About ([0-9]+) minutes to read, about ([0-9]+) lines to write.*/\1 \2/p' "$chapter")
    words=$(sed 's/<!--.*-->//' "$chapter" | wc -w)
    lines=$(cat "$1/solutions/$folder"/*.c* | awk '/^ *\/\/>/ { within = 1; next } /^ *\/\/</ { within = 0 } within && !/^ *(\/\/.*)?$/' | wc -l)
    echo "$folder ${said:-0 0} $words $lines"
  done | awk '{ minutes = $4 / 120 } $2 < 0.86 * minutes || $2 > 1.15 * minutes || $3 < 0.8 * $5 || $3 > 1.25 * $5 {
    printf "%s says %d minutes and %d lines, and has %d and %d\n", $1, $2, $3, minutes, $5 }'
}
check 'each chapter says how long it takes' is "$(misjudged "$root")" ''

# Prints the lessons before which the registry, the chapter's first lines or the instructor's table asks for others.
differently_built_on() {
  local chapter id registered said listed
  for chapter in "$1"/lessons/*/README.md; do
    id=$(basename "$(dirname "$chapter")" | cut -c 1-2)
    registered=$(sed -n "/\"id\": \"$id\"/,/\"builds_on\"/s/.*\"builds_on\"//p" "$1/lessons/registry.json" | grep -oE '[0-9]{2}' | paste -sd' ')
    said=$(awk '/^\*About/, /\*$/' "$chapter" | grep -oE '\[[0-9]{2}\]' | tr -d '[]' | paste -sd' ')
    listed=$(sed -n "s/^| $id [^|]*| \([^|]*\)|.*/\1/p" "$1/docs/instructor.md" | head -n 1 | grep -oE '[0-9]{2}' | paste -sd' ')
    [ "$said" = "$registered" ] && [ "$listed" = "$registered" ] ||
      echo "$id builds on '$registered'; its page says '$said', the instructor's table '$listed'"
  done
}
check 'registry, chapters and the instructor ask for the same lessons before a lesson' is "$(differently_built_on "$root")" ''

# ---- what is broken on purpose is found ----

printf '<a href="nowhere.html"></a> <a href="lesson_01.html#nowhere"></a> <img src="https://example.org/a.png"> <a href="https://example.org"></a>' \
  >"$site/planted.html"
check 'planted links are found, and that to another machine is none of them' is "$(wrong_links "$site" | sort)" \
  "planted.html: <img> loads https://example.org/a.png
planted.html: links to lesson_01.html#nowhere, a page without that anchor
planted.html: links to nowhere.html, which is not there"
rm "$site/planted.html"

mkdir "$work/a copy"
(cd "$root" && tar -cf - README.md LICENSE course docs lessons solutions common tests) | tar -xf - -C "$work/a copy"
cd "$work/a copy" || exit 1
first=$(echo lessons/01_*/README.md)
echo 'See [nothing](../nowhere.md) and [this](#nowhere).' >>"$first"
./docs/site/build.sh "$work/b" >"$work/out" 2>"$work/log"
check 'a text that links to what does not exist: exit 1' is "$?" 1
check 'and its place is named' is "$(cat "$work/log")" "$first:$(wc -l <"$first"): a link to what does not exist: ../nowhere.md"

# ---- a handout: no solutions, no tests of pages, fewer lessons ----

rm -r solutions tests docs/instructor.md docs/adding-a-lesson.md lessons/1*
cat >"$work/cut.cmake" <<'CMAKE'
file(READ lessons/registry.json registry)
string(JSON count LENGTH "${registry}" lessons)
while(count GREATER 9)
  math(EXPR count "${count} - 1")
  string(JSON registry REMOVE "${registry}" lessons ${count})
endwhile()
file(WRITE lessons/registry.json "${registry}")
CMAKE
cmake -P "$work/cut.cmake"
./docs/site/build.sh "$work/b" >"$work/out" 2>"$work/log"
check 'the site of a handout is built, dead links and all' is "$?: $(cat "$work/log")" '0: '
check 'and all that is wrong in it is what was planted' is "$(wrong_links "$work/b/html")" \
  'lesson_01.html: links to lesson_01.html#lesson_01-nowhere, a page without that anchor'
check 'it holds no solution' is "$(find "$work/b/html" -name '*solution*')" ''
check 'it holds its own chapters alone' is "$(cd "$work/b/html" && echo lesson_0?.html lesson_1?.html)" \
  "$(echo lesson_0{1..9}.html) lesson_1?.html"

# ---- formulas: each once, set by the site's own MathJax in a browser that reaches no other machine ----

{
  echo '<!doctype html><meta charset="utf-8">'
  sed -n '/<script type="text\/x-mathjax-config">/,/<\/script>/p' "$site/lesson_01.html"
  echo "<script src=\"mathjax/MathJax.js\"></script><body>"
  cat "$site"/*.html | tr '\n' ' ' | grep -oE '\\\([^<]*\\\)' | sed 's/\\)/\\)\n/g' | grep -oE '\\\(.*\\\)' | sort -u | sed 's|.*|<div>&</div>|'
  cat "$site"/*.html | sed -n '/<p class="formulaDsp">/,/<\/p>/p'
  cat <<'HTML'
<pre id="results"></pre><script>
MathJax.Hub.Queue(() => {
  const wrong = [...document.querySelectorAll('.merror, .MathJax_Error')].map(error => error.textContent);
  const formulas = document.querySelectorAll('.MathJax_SVG').length;
  document.getElementById('results').textContent = `set: ${formulas > 100}, wrong: ${wrong.join('; ')}|`;
});
</script>
HTML
} >"$site/formulas.html"
# Prints the page $1 of the site as a browser has it in the end; further options for it may follow.
in_browser() {
  HOME=$work timeout 100 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --allow-file-access-from-files \
    --user-data-dir="$work/profile" --host-resolver-rules='MAP * ~NOTFOUND' "${@:2}" --dump-dom "file://$site/$1" 2>/dev/null
}
in_browser formulas.html --virtual-time-budget=100000 >"$work/dom"
check 'every formula is set, and none is wrong' has "$(grep -o '<pre id="results">.*' "$work/dom")" 'set: true, wrong: |'

# ---- how pages look: on a telephone and beside the menu, in the dark and in the light ----

cp "$here/site_layout.js" "$site"
# Prints how many pages were looked at and what is wrong with them: WIDTH SCHEME (0 dark, 1 light) PAGE...
looked_at() {
  printf '<!doctype html><meta charset="utf-8"><body><pre id="results"></pre><script>const width = %s, pages = [%s];</script><script src="site_layout.js"></script>' \
    "$1" "$(printf '"%s",' "${@:3}")" >"$site/looked_at.html"
  in_browser looked_at.html --virtual-time-budget=1000000 --window-size=1400,1700 --blink-settings=preferredColorScheme="$2" |
    sed -n 's/.*<pre id="results">\([^|]*\)|.*/\1/p'
}
# shellcheck disable=SC2207  # no name has a blank
some=($(cd "$site" && echo index.html chapters.html lesson_??.html primer_*.html notation.html interviews.html interview_ring.html \
  guide_*.html solution_01.html group__contract05.html files.html namespacecourse_1_1masked.html))
check 'on a telephone in the dark nothing sticks out or is pale' is "$(looked_at 390 0 "${some[@]}")" "${#some[@]} pages: "
check 'nor beside the menu in the light' is "$(looked_at 1280 1 "${some[@]}")" "${#some[@]} pages: "
sed 's|<div class="textblock">|&<p style="min-width: 2000px">wide</p><p style="color: #eee">pale</p>|' "$site/notation.html" >"$site/planted.html"
check 'what is planted is found' is "$(looked_at 1280 1 planted.html)" '1 pages: planted.html: p sticks out; planted.html: p is pale'
conclude
