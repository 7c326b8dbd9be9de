#!/usr/bin/env bash
# Tests common/github/grade.yml: that it parses, has none but the keys that GitHub documents for them
# (https://docs.github.com/en/actions/reference/workflow-syntax-for-github-actions), and what its summary step makes of a report.
#   workflow_test.sh           prints what is wrong; exit 1 when something is, 77 where there is no python3 with yaml
set -u
course_root=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
# A python3 that somebody installed beside the system's does not see the system's packages.
for python in python3 /usr/bin/python3 ''; do
  [ -z "$python" ] || ! "$python" -c 'import yaml' 2>/dev/null || break
done
if [ -z "$python" ]; then
  echo 'skipped: there is no python3 with yaml (Debian: python3-yaml)'
  exit 77
fi
"$python" - "$course_root/common/github/grade.yml" <<'PYTHON'
import os
import re
import subprocess
import sys
import tempfile
import yaml

wrong = []


def check(what, holds):
    if not holds:
        wrong.append(what)


def only(where, mapping, allowed, required=()):
    check(f"{where} is no mapping", isinstance(mapping, dict))
    check(f"{where} has {set(mapping) - set(allowed)}", set(mapping) <= set(allowed))
    check(f"{where} lacks {set(required) - set(mapping)}", set(required) <= set(mapping))


text = open(sys.argv[1]).read()
# BaseLoader: what stands there is text, so that the key `on` is not taken for true.
workflow = yaml.load(text, Loader=yaml.BaseLoader)
only("the workflow", workflow,
     ["name", "run-name", "on", "permissions", "env", "defaults", "concurrency", "jobs"], ["on", "jobs", "permissions"])
only("on", workflow["on"], ["push", "pull_request", "workflow_dispatch", "schedule"])
only("permissions", workflow["permissions"], ["contents"])
check("it may write", workflow["permissions"] == {"contents": "read"})
only("concurrency", workflow["concurrency"], ["group", "cancel-in-progress"], ["group"])
check("there is no job", len(workflow["jobs"]) > 0)
steps = []
for name, job in workflow["jobs"].items():
    only(f"job {name}", job,
         ["name", "permissions", "needs", "if", "runs-on", "environment", "concurrency", "outputs", "env", "defaults",
          "steps", "timeout-minutes", "strategy", "continue-on-error", "container", "services"],
         ["runs-on", "steps", "timeout-minutes"])
    check(f"job {name} has a strange limit", 0 < int(job["timeout-minutes"]) <= 360)
    steps += job["steps"]
for step in steps:
    where = "step " + step.get("name", "without a name")
    only(where, step, ["id", "if", "name", "uses", "run", "working-directory", "shell", "with", "env",
                       "continue-on-error", "timeout-minutes"], ["name"])
    check(f"{where} needs either uses or run", ("uses" in step) != ("run" in step))
    if "uses" in step:
        check(f"{where}: {step['uses']} has no version",
              re.fullmatch(r"[\w.-]+/[\w./-]+@(v\d+|[0-9a-f]{40})", step["uses"]))
        allowed = {"actions/cache": ["path", "key", "restore-keys"],
                   "actions/checkout": ["persist-credentials"],
                   "actions/upload-artifact": ["name", "path", "if-no-files-found"]}
        only(f"{where}'s with", step.get("with", {}), allowed.get(step["uses"].split("@")[0], []))
    else:
        parsed = subprocess.run(["bash", "-n"], input=step["run"], text=True, capture_output=True)
        check(f"{where} is no shell: {parsed.stderr}", parsed.returncode == 0)
        # A name of a branch or a title in ${{ }} would be run as a part of the script.
        check(f"{where} pastes an expression into its script", "${{" not in step["run"])
check("no step grades", any("./course grade" in step.get("run", "") for step in steps))
# Nothing that a submission can write goes from one run to the next but what the compiler's cache knows by its content.
cached = [step["with"]["path"] for step in steps if step.get("uses", "").startswith("actions/cache@")]
check(f"what is kept is {cached}", cached == [workflow["env"].get("CCACHE_DIR")])
check("the compiler's cache is not used", workflow["env"].get("CMAKE_CXX_COMPILER_LAUNCHER") == "ccache")
check("what is kept depends on the machine", workflow["env"].get("COURSE_PORTABLE") == "1")
check("root does not know of the cache", any("--preserve-env ./course grade" in step.get("run", "") for step in steps))
check("it uses a secret, which whoever can push could read", "secrets." not in text)

REPORT = """<?xml version="1.0"?><testsuites><testsuite name="lesson01" tests="3" failures="1" errors="0">
<testcase name="01.1 softmax"/>
<testcase name="01.2 logsumexp"><failure message="p[0] is &lt;nan> | worse" type="failed">p[0]\nmore</failure></testcase>
<testcase name="05.1 ring"><skipped message="no mpirun" type="skipped"/></testcase>
</testsuite></testsuites>"""
EXPECTED = """| task | | first line of the diagnosis |
| --- | --- | --- |
| 01.1 softmax | passed | |
| 01.2 logsumexp | failed | p[0] is &lt;nan&gt; &#124; worse |
| 05.1 ring | skipped | no mpirun |
"""
summary = next(step["run"] for step in steps if "GITHUB_STEP_SUMMARY" in step.get("run", ""))
with tempfile.TemporaryDirectory() as folder:
    target = os.path.join(folder, "summary.md")

    def summarise():
        code = subprocess.run(["bash", "-e", "-c", summary], cwd=folder,
                              env={**os.environ, "GITHUB_STEP_SUMMARY": target}).returncode
        said = re.sub(r" +", " ", open(target).read())
        os.remove(target)
        return code, said

    code, said = summarise()
    check(f"the summary without a report: {code}, {said}", code == 0 and said.startswith("Nothing was graded"))
    with open(os.path.join(folder, "grade.xml"), "w") as file:
        file.write(REPORT)
    code, said = summarise()
    check(f"the summary is {said}", code == 0 and said == EXPECTED)

print("\n".join("grade.yml: " + what for what in wrong) or "grade.yml is as it should be")
sys.exit(1 if wrong else 0)
PYTHON
