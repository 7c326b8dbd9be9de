#!/usr/bin/env bash
# Takes pictures of the site's pages, to be looked at after a change: wide and narrow, light and dark. Needs chromium.
#   docs/site/screenshots.sh DIR [PAGE...]    writes DIR/PAGE-WIDTH-SCHEME.png; without PAGE (such as lesson_05) of every text's
# SITE names the site's folder (build/docs/html), HEIGHT how many pixels of a page are seen (2600).
set -euo pipefail
folder=${1:?usage: docs/site/screenshots.sh DIR [PAGE...]}
shift
root=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
site=$(cd -P -- "${SITE:-$root/build/docs/html}" && pwd)
mkdir -p "$folder"
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT

if [ $# -eq 0 ]; then
  for page in "$site"/{index,chapters,lesson_*,primer*,notation,interview*,guide*,solution*,contracts,group__*,files,annotated}.html; do
    [ ! -f "$page" ] || set -- "$@" "$(basename "$page" .html)"
  done
fi
for page in "$@"; do
  for scheme in 0 1; do # dark, light
    for width in 390 1280; do
      # Some builds of Chromium give a window no less than 500 pixels: the narrow page is shown in a frame.
      address=file://$site/$page.html
      if [ $width = 390 ]; then
        printf '<!doctype html><style>body{margin:0}iframe{border:0}</style><iframe width="390" height="%s" src="%s"></iframe>' "${HEIGHT:-2600}" "$address" >"$profile/narrow.html"
        address=file://$profile/narrow.html
      fi
      chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --allow-file-access-from-files --user-data-dir="$profile/user" \
        --blink-settings=preferredColorScheme=$scheme --window-size=$width,"${HEIGHT:-2600}" --virtual-time-budget=20000 \
        --screenshot="$folder/$page-$width-$([ $scheme = 0 ] && echo dark || echo light).png" "$address" 2>/dev/null
    done
  done
done
