# Prints what is wrong with the links of a site: a page or heading that is not there, and what a page would load from elsewhere.
# Links to other machines (<a href="https://...">) are left alone.
#   cd SITE; awk -v site=. -f site_links.awk $(find . -name '*.html')
BEGIN { RS = "<" }

FNR == 1 {
  page = FILENAME
  sub(/^\.\//, "", page)
  folder = page
  if (!sub(/[^\/]*$/, "", folder)) folder = ""
  pages[page] = 1
}

# A record is a tag, up to the > that ends it, and the text behind it.
{
  tag = tolower(substr($0, 1, index($0 " ", " ") - 1))
  sub(/[>\n].*/, "", tag)
  if (tag ~ /^(!|\/|\?)/ || tag == "" || index($0, "=") == 0) next
  text = $0
  while (match(text, /[ \n](id|name|href|xlink:href|src|srcset|data|poster|action)=("[^"]*"|'[^']*')/)) {
    pair = substr(text, RSTART + 1, RLENGTH - 1)
    text = substr(text, RSTART + RLENGTH)
    at = index(pair, "=")
    key = substr(pair, 1, at - 1)
    value = substr(pair, at + 2, length(pair) - at - 2)
    gsub(/&amp;/, "\\&", value)
    if (key == "id" || key == "name") ids[page "#" value] = 1
    else if (value ~ /^([a-z]+:)?\/\// || value ~ /^[a-z]+:/) {
      if (!(tag == "a" && key ~ /href$/) && value !~ /^(data|javascript|about):/) print page ": <" tag "> loads " value
    } else if (value != "" && value != "#") links[page "\t" folder "\t" value] = 1
  }
}

END {
  for (link in links) {
    split(link, part, "\t")
    at = index(part[3], "#")
    path = at ? substr(part[3], 1, at - 1) : part[3]
    anchor = at ? substr(part[3], at + 1) : ""
    sub(/\?.*/, "", path)
    gsub(/%20/, " ", path)
    target = path == "" ? part[1] : resolved(part[2] path)
    if (!(target in pages) && !exists(target)) print part[1] ": links to " part[3] ", which is not there"
    # The visualizer keeps its state behind the #.
    else if (anchor != "" && target in pages && target !~ /^visualizer\// && !((target "#" anchor) in ids))
      print part[1] ": links to " part[3] ", a page without that anchor"
  }
}

function resolved(path) {
  while (sub(/(^|\/)\.\//, "/", path)) sub(/^\//, "", path)
  while (sub(/(^|\/)[^\/.][^\/]*\/\.\.\//, "/", path)) sub(/^\//, "", path)
  return path
}

function exists(path,    line, found) {
  if (path in known) return known[path]
  found = (getline line < path) >= 0
  close(path)
  return known[path] = found
}
