"""Runs action.yml as a runner would: environment files, an event payload, a GitHub that is a process here. Then lets others read the JUnit.

Prints `ok NAME` or `FAILED NAME: why` for each check.
"""

import http.server
import json
import os
import re
import signal
import subprocess
import sys
import threading
import traceback
import urllib.request
from pathlib import Path
from xml.etree import ElementTree

import junitparser
import xmlschema
import yaml

# The schema is junit-10.xsd, as Jenkins publishes it for its xUnit plug-in.
ROOT, SCRATCH, SCHEMA = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
KEY = "vk_ci_suite_key_0123456789abcdefghijklmnopqrstuvwxyz"
HOSTILE = "Admit @admin #12 | `x` <!-- --> <b>::error::gotcha"
failed = False


def check(name):
    """A check: prints how it went and goes on."""

    def run(body):
        global failed
        try:
            body()
            print(f"ok {name}", flush=True)
        except Exception as error:
            failed = True
            where = traceback.extract_tb(error.__traceback__)[-1]
            print(f"FAILED {name}: {type(error).__name__}: {error} (line {where.lineno})".replace("\n", " ")[:3000], flush=True)

    return run


class GitHub(http.server.BaseHTTPRequestHandler):
    """As much of GitHub's API as comments need."""

    comments, next_id, may_write = [], 1, True

    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def body(self):
        return json.loads(self.rfile.read(int(self.headers["content-length"])))["body"]

    def do_GET(self):
        assert re.match(r"/repos/acme/agent/issues/7/comments\?per_page=100&page=\d+$", self.path), self.path
        page = int(self.path.rsplit("=", 1)[1])
        self.answer(200, GitHub.comments[(page - 1) * 100 : page * 100])

    def do_POST(self):
        text = self.body()
        if not GitHub.may_write:
            return self.answer(403, {"message": "Resource not accessible by integration"})
        if len(text) > 65536:
            return self.answer(422, {"message": "Body is too long"})
        GitHub.comments.append({"id": GitHub.next_id, "body": text})
        GitHub.next_id += 1
        self.answer(201, GitHub.comments[-1])

    def do_PATCH(self):
        text, number = self.body(), int(self.path.rsplit("/", 1)[1])
        comment = next(one for one in GitHub.comments if one["id"] == number)
        comment["body"] = text
        self.answer(200, comment)

    def log_message(self, *_):
        pass


def expression(text, context):
    """What a runner makes of `${{ … }}`: paths into its contexts, with `||` between them."""

    def value(found):
        for path in found.group(1).split("||"):
            here = context
            for name in path.strip().split("."):
                here = here.get(name) if isinstance(here, dict) else None
            if here not in (None, ""):
                return str(here)
        return ""

    return re.sub(r"\$\{\{(.*?)\}\}", value, text)


class Ran:
    def __init__(self, code, log, summary, outputs, junit):
        self.code, self.log, self.summary, self.outputs, self.junit = code, log, summary, outputs, junit


runs_of_action = 0


def action(server, github, folder, **inputs):
    """Runs the action the way a runner runs composite actions."""
    global runs_of_action
    runs_of_action += 1
    place = SCRATCH / f"action-{runs_of_action}"
    place.mkdir()
    described = yaml.safe_load((ROOT / "action.yml").read_text())
    event = {"pull_request": {"number": 7, "head": {"sha": "a1b2c3d4"}}}
    (place / "event.json").write_text(json.dumps(event))
    context = {"github": {"token": "ghs_x", "action_path": str(ROOT), "head_ref": "feature/x,y=z", "sha": "0", "event": event}}
    given = {name: expression(str(one.get("default", "")), context) for name, one in described["inputs"].items()}
    given |= {"server": server, "key": KEY, "policy": str(folder / "gate.toml"), "junit": str(place / "proctor.xml")}
    given |= {name.replace("_", "-"): value for name, value in inputs.items()}
    for name, one in described["inputs"].items():
        assert not one.get("required") or given[name], f"{name} is required"
    context["inputs"] = given
    environment = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "NODE_PATH", "LANG")}
    environment |= {"GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "acme/agent", "GITHUB_API_URL": github, "GITHUB_EVENT_PATH": str(place / "event.json"),
                    "GITHUB_STEP_SUMMARY": str(place / "summary"), "GITHUB_OUTPUT": str(place / "output")}
    code, log = 0, ""
    for step in described["runs"]["steps"]:
        assert step["shell"] == "bash", "composite steps say their shell"
        own = {name: expression(value, context) for name, value in step["env"].items()}
        script = expression(step["run"], context)
        done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", script], env=environment | own, cwd=folder, capture_output=True, text=True)
        code, log = done.returncode, log + done.stdout + done.stderr
    read = lambda name: (place / name).read_text() if (place / name).exists() else ""
    outputs = dict(line.split("=", 1) for line in read("output").splitlines())
    return Ran(code, log, read("summary"), outputs, place / "proctor.xml")


def proctor(*arguments, **more):
    return subprocess.run(["proctor", *map(str, arguments)], capture_output=True, text=True, env=os.environ | {"PROCTOR_KEY": KEY} | more)


BENCHMARK = {
    "name": "Admissions", "slug": "admissions", "timeout": 600,
    "environment": {"name": "Ward", "simulators": [{"type": "Fhir", "name": "Chart"}]},
    "tasks": [
        {"name": HOSTILE if number == 0 else f"Admit patient {number}", "task_item": {"instructions": "Register the patient."},
         "criteria": [{"label": f"The patient {number} is in the chart", "axis": "accuracy",
                       "assertion": {"assert": "fhir-resource-state", "resource_type": "Patient", "search": {"family": f"Family{number}"}, "count": {"min": 1}}}],
         "solution": [{"call": "POST fhir/Patient", "expect": 201, "body": {"resourceType": "Patient", "name": [{"family": f"Family{number}"}]}}]}
        for number in range(6)
    ],
}

AGENT = """
import json, os, sys, time, urllib.request
task = json.load(open(os.environ["PROCTOR_TASK_FILE"]))
assert "PROCTOR_KEY" not in os.environ, "an agent has no business with the organization's key"
wanted = set(sys.argv[1].split(",")) if len(sys.argv) > 1 else set()
name = task["name"]
number = name.rsplit(" ", 1)[1] if name.startswith("Admit patient ") else "0"
def register(family):
    body = {"resourceType": "Patient", "name": [{"family": family}]}
    request = urllib.request.Request(os.environ["PROCTOR_FHIR_URL"] + "/Patient", json.dumps(body).encode(), method="POST",
        headers={"authorization": "Bearer " + os.environ["PROCTOR_TOKEN"], "content-type": "application/json"})
    return urllib.request.urlopen(request).read()
if number in wanted:
    register("Family" + number)
elif len(sys.argv) > 2:
    register(sys.argv[2])
time.sleep(float(os.environ.get("AGENT_SLEEPS", "0")))
print("::error::an agent says so")
"""


def main():
    data = SCRATCH / "data"
    environment = os.environ | {"PROCTOR_BOOTSTRAP_KEY": KEY}
    command = ["proctor", "serve", "--json", "--listen", "127.0.0.1:0", "--data", str(data), "--log", "error"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    github = http.server.ThreadingHTTPServer(("127.0.0.1", 0), GitHub)
    threading.Thread(target=github.serve_forever, daemon=True).start()
    try:
        url = json.loads(server.stdout.readline())["url"]
        os.environ["PROCTOR_SERVER"] = url
        tell(url, f"http://127.0.0.1:{github.server_port}")
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(60)
        github.shutdown()


def tell(url, github):
    folder = SCRATCH / "repository"
    folder.mkdir()
    (folder / "agent.py").write_text(AGENT)
    (folder / "admissions.yaml").write_text(yaml.safe_dump(BENCHMARK, sort_keys=False))
    pushed = proctor("benchmark", "push", folder / "admissions.yaml", "--publish")
    assert pushed.returncode == 0, pushed.stderr
    good, bad = f"python3 {folder}/agent.py 0,1,2,3,4,5", f"python3 {folder}/agent.py 3 Nobody"
    take = lambda labels, command, attempts=3: proctor(
        "run", "admissions@1", "--agent-name", "night-shift", "--agent", command, "--label", labels, "--attempts", attempts, "--scored")
    baseline = take("branch=main", good)
    assert baseline.returncode == 0, baseline.stderr
    shared = dict(benchmark="admissions@1", agent="night-shift", attempts="3", benchmark_file=str(folder / "admissions.yaml"))
    kept = {}

    @check("gate init writes a policy that is read")
    def _():
        made = proctor("gate", "init", folder / "gate.toml")
        assert made.returncode == 0, made.stderr
        assert proctor("gate", "init", folder / "gate.toml").returncode == 2, "what is there is not written over"
        text = (folder / "gate.toml").read_text().replace("at = -0.05", "at = -0.3")
        (folder / "gate.toml").write_text(text)

    @check("the same agent passes, and nobody is bothered with a comment")
    def _():
        ran = kept["pass"] = action(url, github, folder, command=good, **shared)
        assert ran.code == 0, ran.log
        assert (ran.outputs["verdict"], ran.outputs["exit-code"], ran.outputs["score"]) == ("PASS", "0", "1"), ran.outputs
        assert ran.outputs["run-id"].count("br_") == 3 and ran.outputs["url"].startswith(url), ran.outputs
        assert "### Proctor: PASS" in ran.summary and "void, not counted" in ran.summary, ran.summary
        assert GitHub.comments == [], GitHub.comments

    @check("a regression fails, with a comment, annotations and a summary")
    def _():
        ran = kept["fail"] = action(url, github, folder, command=bad, **shared)
        assert ran.code == 1, ran.log
        assert ran.outputs["verdict"] == "FAIL", ran.outputs
        assert len(GitHub.comments) == 1, GitHub.comments
        body = GitHub.comments[0]["body"]
        assert body.endswith("<!-- proctor:admissions:night-shift -->"), body[-200:]
        assert "The patient 0 is in the chart" in body and "| worse first |" in body, body
        errors = [line for line in ran.log.splitlines() if line.startswith("::error")]
        assert 1 <= len(errors) <= 9, ran.log
        assert any("file=" in line and "admissions.yaml" in line for line in errors), errors

    @check("a second failure updates the comment in place")
    def _():
        before = GitHub.comments[0]["body"]
        ran = action(url, github, folder, command=f"python3 {folder}/agent.py 2", **shared)
        assert ran.code == 1, ran.log
        assert len(GitHub.comments) == 1 and GitHub.comments[0]["body"] != before

    @check("hostile text is text in the comment, the summary and the log")
    def _():
        ran = kept["fail"]
        for text in (GitHub.comments[0]["body"], ran.summary):
            outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text.rsplit("<!-- proctor:", 1)[0])
            for live in ("@admin", "#12", "<b>", "<!--", "::error"):
                assert live not in outside, (live, outside)
        stopped = None
        for line in ran.log.splitlines():
            if line.startswith("::stop-commands::"):
                stopped = line.removeprefix("::stop-commands::")
            elif stopped and line == f"::{stopped}::":
                stopped = None
            elif not stopped and line.startswith("::"):
                assert line.startswith(("::error title=Proctor", "::error file=", "::notice title=Proctor")) or line == "::error::an agent says so", line

    @check("a pull request of a fork gets the summary, with a sentence about the comment")
    def _():
        GitHub.may_write, GitHub.comments[:] = False, []
        ran = action(url, github, folder, command=bad, **shared)
        GitHub.may_write = True
        assert ran.code == 1 and "pull-requests: write" in ran.summary, ran.summary

    @check("INCONCLUSIVE has a code of its own, or what the job says")
    def _():
        policy = folder / "strict.toml"
        policy.write_text('about = "suite"\n[[line]]\nkind = "change"\nat = 0.0001\n')
        runs = kept["pass"].outputs["run-id"]
        for meaning, code in (("", 4), ("pass", 0), ("fail", 1)):
            ran = action(url, github, folder, runs=runs, policy=str(policy), baseline="branch=main,newest=3", inconclusive=meaning, comment="never")
            assert (ran.code, ran.outputs["verdict"]) == (code, "INCONCLUSIVE"), (ran.code, ran.log)

    @check("a policy that says nothing is refused, and the summary says so")
    def _():
        policy = folder / "empty.toml"
        policy.write_text('about = "suite"\n')
        ran = action(url, github, folder, runs=kept["pass"].outputs["run-id"], policy=str(policy))
        assert ran.code == 2 and ran.outputs["verdict"] == "REFUSED", ran.log
        assert "a gate without a line decides nothing" in ran.summary, ran.summary
        case = next(iter(next(iter(junitparser.JUnitXml.fromfile(str(ran.junit))))))
        assert case.result[0].type == "refused" and "decides nothing" in case.result[0].message, case.result
        summary = SCRATCH / "refused.md"
        refused = proctor("gate", kept["pass"].outputs["run-id"], "--policy", policy, "--summary", summary)
        assert refused.returncode == 2 and "### Proctor: no verdict" in summary.read_text(), refused.stderr

    @check("a program with another digest is not run")
    def _():
        ran = action(url, github, folder, runs="br_x", url=Path("/bin/true").as_uri(), sha256="0" * 64)
        assert ran.code == 2 and "SHA-256" in ran.summary, (ran.code, ran.log)

    @check("the JUnit is valid by the published schema")
    def _():
        schema = xmlschema.XMLSchema(str(SCHEMA))
        criteria, refused = SCRATCH / "criteria.xml", SCRATCH / "refused.xml"
        runs = kept["fail"].outputs["run-id"]
        ran = proctor("gate", runs, "--policy", folder / "gate.toml", "--junit", criteria, "--junit-level", "criterion")
        assert ran.returncode == 1, ran.stderr
        (folder / "nothing.toml").write_text('about = "suite"\n')
        assert proctor("gate", runs, "--policy", folder / "nothing.toml", "--junit", refused).returncode == 2
        for path in (kept["pass"].junit, kept["fail"].junit, criteria, refused):
            tree = ElementTree.parse(path)
            # The one deviation: test cases of repeats have properties, as those of pytest and nextest do. The schema knows them of suites only.
            for case in tree.iter("testcase"):
                for properties in case.findall("properties"):
                    case.remove(properties)
            plain = SCRATCH / "plain.xml"
            tree.write(plain, encoding="utf-8", xml_declaration=True)
            schema.validate(str(plain))
        suite = ElementTree.parse(criteria).getroot()[0]
        assert suite.find("testcase").find("failure").get("message").startswith("met in 0 of 3 attempts; score 0.00: "), ElementTree.tostring(suite)

    @check("junitparser (PyPI) reads it")
    def _():
        suites = junitparser.JUnitXml.fromfile(str(kept["fail"].junit))
        suite = next(iter(suites))
        assert (suite.tests, suite.failures, suite.errors) == (6, 5, 0), suite
        assert suite.name == "admissions@1 night-shift", suite.name
        properties = {one.name: one.value for one in suite.properties()}
        assert properties["proctor.url"].startswith(f"{url}/ui/gates/") and properties["proctor.run-url"].startswith(f"{url}/ui/runs/br_"), properties
        assert 0 < float(properties["proctor.axis.accuracy"]) < 1, properties
        heads = [value for name, value in properties.items() if name.startswith("proctor.journal-head.tr_")]
        assert heads and all(len(head) == 64 for head in heads), properties
        cases = list(suite)
        assert sum(case.is_passed for case in cases) == 1
        worst = next(case for case in cases if not case.is_passed)
        assert worst.classname == "admissions" and "(task_" in worst.name, worst.name
        assert "0 of 3 attempts passed" in worst.result[0].message, worst.result[0].message
        assert "✘ The patient 0 is in the chart" in worst.result[0].text, worst.result[0].text
        assert "fhir_request" in worst.system_out and "Nobody" in worst.system_out, worst.system_out
        assert all(case.system_out is None for case in cases if case.is_passed), "only of what failed"

    @check("junit2json (npm) reads it")
    def _():
        script = ("import { createRequire } from 'module'; import { readFileSync } from 'fs'; import { pathToFileURL } from 'url';"
                  "const entry = createRequire(process.env.NODE_PATH + '/x').resolve('junit2json');"
                  "const { parse } = await import(pathToFileURL(entry));"
                  "console.log(JSON.stringify(await parse(readFileSync(process.argv[1], 'utf8'))))")
        done = subprocess.run(["node", "--input-type=module", "-e", script, str(kept["fail"].junit)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        read = json.loads(done.stdout)
        suite = (read.get("testsuites") or read).get("testsuite")[0]
        assert int(suite["tests"]) == 6 and int(suite["failures"]) == 5, suite
        assert any("@admin" in case["name"] for case in suite["testcase"]), "names stay readable"

    @check("compare and show tell the same on the command line")
    def _():
        bad_runs = kept["fail"].outputs["run-id"]
        compared = proctor("compare", "branch=main,newest=3", bad_runs, "--about", "suite", "--json")
        assert compared.returncode == 0, compared.stderr
        found = json.loads(compared.stdout)
        assert found["version"] == 1 and found["comparison"]["worse"] == 5, found["comparison"]
        words = proctor("compare", "branch=main,newest=3", bad_runs, "--about", "suite").stdout
        assert words.startswith("B is worse by "), words
        assert "### Proctor: B is worse" in proctor("compare", "branch=main,newest=3", bad_runs, "--about", "suite", "--markdown").stdout
        shown = proctor("show", bad_runs.split(",")[0], "--failed").stdout
        assert re.match(r"16\.7 % \(95 % interval [\d.]+ to [\d.]+\) over 6 tasks × 1; 6 of 6 scored\.\n", shown), shown
        assert "1 passed task is not listed" in shown and "why points were lost:" in shown and "accuracy" in shown, shown
        plain = proctor("show", bad_runs.split(",")[0], "--ascii").stdout
        assert plain.isascii() and "x fail" in plain and "+ pass" in plain, plain
        markdown = proctor("show", bad_runs.split(",")[0], "--markdown").stdout
        assert markdown.startswith("### Proctor: 16.7 %") and "`Admit patient 3`" in markdown, markdown
        assert proctor("compare", "branch=main,newest=3", bad_runs, "--ascii").stdout.isascii()
        assert proctor("compare", "br_x", "br_y").returncode == 2
        assert proctor("compare", "branch=main", "branch=nowhere").returncode == 2

    @check("show tells what was expected and what happened in a task run")
    def _():
        run = kept["fail"].outputs["run-id"].split(",")[0]
        attempts = json.loads(proctor("show", run, "--json").stdout)["agents"][0]["attempts"]
        missed = next(one for one in attempts if one["verdict"] != "pass")["details"]["task_run_id"]
        shown = proctor("show", missed, "--events")
        assert shown.returncode == 0, shown.stderr
        assert "The patient 0 is in the chart" in shown.stdout and "→ fhir_request" in shown.stdout, shown.stdout
        whole = json.loads(proctor("show", missed, "--events", "--json").stdout)
        assert whole["version"] == 1 and whole["events"] and whole["found"][0]["passed"] is False, whole
        for wrong in ((run, "--events"), (run, "--follow", "--json"), ("br_x",)):
            assert proctor("show", *wrong).returncode == 2, wrong

    @check("show follows a run until it is over")
    def _():
        environment = os.environ | {"PROCTOR_KEY": KEY, "AGENT_SLEEPS": "0.4"}
        take = ["proctor", "run", "admissions@1", "--agent-name", "sleepy", "--agent", good]
        taking = subprocess.Popen(take, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        run = taking.stderr.readline().split()[-1]
        assert run.startswith("br_"), run
        followed = proctor("show", run, "--follow")
        assert followed.returncode == 0, followed.stderr
        lines = [line for line in followed.stderr.splitlines() if line.startswith("✔ pass  1.000")]
        assert len(lines) == 6, followed.stderr
        assert "6 of 6 scored" in followed.stdout, followed.stdout
        assert taking.wait(60) == 0, taking.stderr.read()

    @check("scores are plotted")
    def _():
        request = urllib.request.Request(f"{url}/benchmarks?limit=1", headers={"authorization": f"Bearer {KEY}"})
        benchmark = json.load(urllib.request.urlopen(request))["data"][0]["id"]
        for name, kind in (("trend?agent=night-shift", "application/json"), ("trend.svg", "image/svg+xml")):
            request = urllib.request.Request(f"{url}/benchmarks/{benchmark}/{name}", headers={"authorization": f"Bearer {KEY}"})
            with urllib.request.urlopen(request) as answer:
                assert answer.headers["content-type"].startswith(kind), answer.headers
                text = answer.read().decode()
        # A mark for each run, and one in the legend.
        assert text.count("<circle") >= 13, text[:300]
        for agent in ("night-shift", "sleepy"):
            assert text.count(f">{agent}</text>") == 2, text[:300]


main()
sys.exit(failed)
