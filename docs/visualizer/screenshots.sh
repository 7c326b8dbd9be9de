#!/usr/bin/env bash
# Takes pictures of the page, to be looked at after a change: wide and narrow, light and dark, and printed. Needs chromium.
#   docs/visualizer/screenshots.sh DIR        writes DIR/*.png and DIR/*.pdf
set -euo pipefail
folder=${1:?usage: docs/visualizer/screenshots.sh DIR}
page=file://$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)/index.html
mkdir -p "$folder"
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT

browse() { chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$profile" "$@" 2>/dev/null; }

picture() { # NAME HASH
  local scheme width
  for scheme in 0 1; do # dark, light
    for width in 360 1000; do
      browse --blink-settings=preferredColorScheme=$scheme --window-size=$width,2600 \
        --screenshot="$folder/$1-$width-$([ $scheme = 0 ] && echo dark || echo light).png" "$page#$2"
    done
  done
  browse --no-pdf-header-footer --print-to-pdf="$folder/$1.pdf" "$page#$2"
}

picture zigzag-backward 'ranks=8&layout=zigzag&mask=causal&direction=backward&tokens=64&step=3'
picture contiguous 'ranks=4&layout=contiguous&mask=causal&tokens=16&step=2'
picture uneven 'ranks=3&layout=zigzag&mask=causal&tokens=20&step=1'
picture fewer-tokens 'ranks=5&layout=striped&mask=none&direction=backward&tokens=3&step=5'
picture shared 'ranks=4&heads=8&kv_heads=2&step=1'
picture window 'ranks=4&tokens=16&documents=2,11,3&window=6&step=2'
picture stops 'ranks=8&tokens=64&window=18&direction=backward&ring=stops&heads=8&kv_heads=1&step=3'
picture ulysses 'ranks=8&tokens=64&heads=8&kv_heads=4&exchange=Ulysses'
picture grid 'ranks=8&tokens=64&heads=8&kv_heads=2&exchange=grid&node=4&layout=zigzag'
picture double-ring 'ranks=8&tokens=64&heads=8&kv_heads=8&exchange=double ring&node=4'
picture documents 'ranks=4&layout=documents&mask=none&tokens=64&documents=20,0,4,40&ring=stops&step=1'
