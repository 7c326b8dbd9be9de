#!/usr/bin/env bash
# Opens docs/visualizer in headless Chromium and has visualizer_test.js look at it; skipped where there is no Chromium,
# unless nothing may be skipped (COURSE_NO_SKIP, CI).
#   visualizer_test.sh VISUALIZER_TABLES       the program that prints what it should compute
set -uo pipefail
tables=$1
here=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
page=$here/../../docs/visualizer
# shellcheck source=tests/course/checks.sh
. "$here/../course/checks.sh"

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -z "$browser" ]; then
  echo 'there is no chromium on this machine'
  [ -z "${COURSE_NO_SKIP:-}${CI:-}" ] && exit 77
  exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

check 'nothing in the page names another machine' is "$(grep -lE '(https?|wss?):|["(]//' "$page"/*.html "$page"/*.css "$page"/*.js)" ''
check 'the page forbids the browser every other source' has "$(cat "$page/index.html")" "content=\"default-src 'none'; script-src 'self'; style-src 'self'\""

"$tables" >"$work/tables.js" || exit 1
cat >"$work/test.html" <<HTML
<!doctype html><meta charset="utf-8"><iframe id="page" width="360" height="800" src="file://$page/index.html"></iframe><pre id="results"></pre>
<iframe id="until-the-end" hidden></iframe><script>document.getElementById('until-the-end').contentDocument.open()</script>
<script src="tables.js"></script><script src="file://$page/model.js"></script><script src="file://$page/trace.js"></script>
<script src="file://$page/exchange.js"></script><script src="file://$page/view.js"></script><script src="file://$page/exchange_view.js"></script><script src="file://$here/visualizer_test.js"></script>
HTML
# Chromium prints the page when it has loaded: the frame that is open for writing keeps it loading until the last
# check. (In virtual time a wait for a file that is read beside the page ends before the file is read.)
# In a container Chromium's own sandbox has no namespaces to stand on and /dev/shm is small.
HOME=$work timeout 200 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --allow-file-access-from-files \
  --user-data-dir="$work/profile" --dump-dom "file://$work/test.html" >"$work/dom" 2>"$work/log"
sed -n '/<pre id="results">/,/<\/pre>/p' "$work/dom" | sed 's/<[^>]*>//g; s/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g' >"$work/results"
cat "$work/results"
finished=$(grep -c '^every check was made$' "$work/results")
about_failure() { tail -n 20 "$work/log"; }
check 'the browser came to the end' is "$finished" 1
about_failure() { :; }
check 'every check in the browser passes' is "$(grep -c '^FAIL' "$work/results")" 0
conclude
