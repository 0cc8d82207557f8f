"""The load: what clients do again and again while the server is killed, and what they expect of it.

Each life is a thread that goes on as if nothing happened: a request without an answer is sent again with the same `x-request-id`. What it was told
(ids, acknowledged writes) it remembers; `settle` looks for all of it at the end.
"""

import random
import threading
import time
import uuid

from findings import DOUBLED, FAILED, LOST, Findings
from server import Server

SOLVED = 'test "$(cat answer.txt)" = 42 && test "$(wc -l < answer.txt)" = 1'
LIVE_JOB = {"initializing", "queued", "running"}


class Life(threading.Thread):
    """One client that repeats its work until it is told to stop."""

    def __init__(self, server: Server, findings: Findings, setup: dict, seed: int, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self.server, self.findings, self.setup = server, findings, setup
        self.random, self.stop = random.Random(seed), stop
        self.told = []

    def run(self) -> None:
        while not self.stop.is_set():
            try:
                self.live()
            except (AssertionError, TimeoutError, KeyError) as error:
                self.findings.report(LOST, f"{type(self).__name__}: a client could not go on", repr(error))

    def live(self) -> None:
        raise NotImplementedError

    def settle(self) -> None:
        """Looks for everything that this client was told, once the server is left alone."""

    def pause(self, most: float) -> None:
        time.sleep(self.random.uniform(0, most))

    def wait(self, path: str, statuses: list[str], over: set[str]) -> dict:
        """A devbox or an execution as soon as it has one of these statuses."""
        until = time.monotonic() + 120
        while time.monotonic() < until:
            body = {"statuses": [*statuses, *over], "timeout_seconds": 5}
            answer = self.server.ask("POST", f"{path}/wait_for_status", body, once=False)
            if answer.status == 200 and answer.body["status"] in {*statuses, *over}:
                return answer.body
            assert answer.status in (200, 408), f"{path}: {answer.status} {answer.body}"
        raise TimeoutError(f"{path} is not {statuses} after two minutes")


class Devboxes(Life):
    """A devbox is asked for, used once and ended."""

    def live(self) -> None:
        mark = str(uuid.uuid4())
        body = {"name": "chaos", "metadata": {"chaos": mark}, "launch_parameters": {"launch_commands": ["echo launched >> launched"]}}
        made = self.server.post("/v1/devboxes", body)
        path = f"/v1/devboxes/{made['id']}"
        self.told.append((mark, made["id"]))
        self.findings.count("devboxes made")
        # A refusal that will pass must not be what the same request is told later.
        hasty = str(uuid.uuid4())
        command = {"command": "echo used >> used; cat launched used"}
        early = self.server.ask("POST", f"{path}/execute_sync", command, request_id=hasty)
        seen = self.wait(path, ["running"], {"failure", "shutdown"})
        if not self.findings.expect(seen["status"] == "running", FAILED, "a devbox that was being made", seen):
            return
        if early.status == 400:
            self.findings.count("requests refused for now, and asked again")
            early = self.server.ask("POST", f"{path}/execute_sync", command, request_id=hasty)
            if not self.findings.expect(early.is_fine, LOST, "a refusal that had passed was told again", early.body):
                early = self.server.ask("POST", f"{path}/execute_sync", command)
        if self.findings.expect(early.is_fine, LOST, "a command in a devbox", f"{early.status} {early.body}"):
            expected = "launched\nused\n"
            self.findings.expect(early.body["stdout"] == expected, DOUBLED, "commands of a devbox", early.body["stdout"])
        self.pause(0.3)
        self.server.post(f"{path}/shutdown")
        self.findings.count("devboxes used and ended")

    def settle(self) -> None:
        # Every request was repeated until it was answered, so each mark is there exactly once.
        listed = self.server.everything("/v1/devboxes", "devboxes")
        for mark, id in self.told:
            marked = [one["id"] for one in listed if one["metadata"].get("chaos") == mark]
            self.findings.expect(id in marked, LOST, "an acknowledged devbox", f"{mark}: {id} is not in {marked}")
            self.findings.expect(len(marked) <= 1, DOUBLED, "a devbox by one x-request-id", f"{mark}: {marked}")


class Executions(Life):
    """A command that writes numbers for as long as its devbox lives; none may be missing or come twice."""

    def live(self) -> None:
        made = self.server.post("/v1/devboxes", {"name": "chaos-long", "metadata": {"chaos": str(uuid.uuid4())}})
        path = f"/v1/devboxes/{made['id']}"
        self.findings.count("devboxes made")
        seen = self.wait(path, ["running"], {"failure", "shutdown"})
        if not self.findings.expect(seen["status"] == "running", FAILED, "a devbox that was being made", seen):
            return
        count = "n=0; echo begun >> begun; while [ ! -e stop ]; do n=$((n+1)); echo $n; sleep 0.02; done; wc -l < begun"
        begun = self.server.ask("POST", f"{path}/execute_async", {"command": count})
        assert begun.is_fine, begun
        execution = f"{path}/executions/{begun.body['execution_id']}"
        self.pause(6)
        self.server.post(f"{path}/execute_sync", {"command": "touch stop"})
        ended = self.wait(execution, ["completed"], set())
        lines = ended["stdout"].split()
        if self.findings.expect(ended["exit_status"] == 0 and bool(lines), LOST, "an execution", ended):
            times, numbers = lines[-1], lines[:-1]
            self.findings.expect(times == "1", DOUBLED, "an execution by one x-request-id", f"{times} times")
            # Only the end of a long output is in the answer.
            contiguous = all(int(later) == int(earlier) + 1 for earlier, later in zip(numbers, numbers[1:]))
            self.findings.expect(contiguous, LOST, "output of an execution", ended["stdout"][-400:])
        self.server.post(f"{path}/shutdown")
        self.findings.count("executions followed to their end")


class ScenarioRuns(Life):
    """A scenario is started, done, scored and completed."""

    def live(self) -> None:
        mark = str(uuid.uuid4())
        scenario = self.random.choice(self.setup["scenarios"])
        started = self.server.post("/v1/scenarios/start_run", {"scenario_id": scenario, "metadata": {"chaos": mark}})
        run = started["id"]
        self.told.append((mark, run))
        self.findings.count("scenario runs started")
        seen = self.wait(f"/v1/devboxes/{started['devbox_id']}", ["running"], {"failure", "shutdown"})
        if not self.findings.expect(seen["status"] == "running", FAILED, "the devbox of a scenario run", seen):
            return
        devbox = f"/v1/devboxes/{started['devbox_id']}"
        done = self.server.ask("POST", f"{devbox}/execute_sync", {"command": "echo 42 >> answer.txt; sleep 0.1; cat answer.txt"})
        if not self.findings.expect(done.is_fine, LOST, "the agent's command", f"{done.status} {done.body}"):
            return
        self.findings.expect(done.body["stdout"] == "42\n", DOUBLED, "the agent's command by one x-request-id", done.body)
        # One that ran twice is put right, so that what follows is about what follows.
        self.server.post(f"{devbox}/execute_sync", {"command": "echo 42 > answer.txt"})
        self.pause(0.2)
        path = f"/v1/scenarios/runs/{run}"
        scored = self.server.ask("POST", f"{path}/score", {})
        self.findings.expect(scored.is_fine, LOST, "a scoring that was asked for", f"{scored.status} {scored.body}")
        until = time.monotonic() + 120
        while (seen := self.server.get(path))["state"] in ("running", "scoring") and time.monotonic() < until:
            time.sleep(0.1)
        if not self.findings.expect(seen["state"] == "scored", FAILED, "a scoring", f"{run} is {seen['state']}: {seen.get('metadata')}"):
            return
        completed = self.server.post(f"{path}/complete")
        self.findings.expect(completed["state"] == "completed", FAILED, "completing a scenario run", completed)
        self.findings.count("scenario runs completed")

    def settle(self) -> None:
        listed = self.server.everything("/v1/scenarios/runs", "runs")
        for mark, run in self.told:
            marked = [one for one in listed if one["metadata"].get("chaos") == mark]
            self.findings.expect(run in [one["id"] for one in marked], LOST, "an acknowledged scenario run", run)
            self.findings.expect(len(marked) <= 1, DOUBLED, "a scenario run by one x-request-id", [one["id"] for one in marked])
        mine = {run for _, run in self.told}
        for one in listed:
            # What a doubled request made is reported as that.
            if one["id"] not in mine:
                continue
            if one["state"] != "completed":
                self.findings.report(FAILED, "a scenario run that nobody ended", f"{one['id']} is {one['state']}: {one['metadata']}")
            elif self.random.random() < 0.3:
                self.score_again(one)

    def score_again(self, run: dict) -> None:
        again = self.server.post(f"/v1/scenarios/runs/{run['id']}/rescore")
        first, second = run["scoring_contract_result"]["score"], again["scoring_contract_result"]["score"]
        self.findings.expect(first == second == 1.0, FAILED, "score = rescore of a scenario run", f"{run['id']}: {first}, {second}")
        self.findings.count("scenario runs scored again")


class Jobs(Life):
    """A job of three agents over a few scenarios."""

    def live(self) -> None:
        mark = str(uuid.uuid4())
        scenarios = self.setup["scenarios"]
        # What ran twice in one box would have two lines.
        command = "echo begun >> begun.txt; sleep 0.4; test $(wc -l < begun.txt) = 1 && echo 42 > answer.txt"
        agents = [
            {"type": "job_agent", "name": "oracle"},
            {"type": "job_agent", "name": "nop"},
            {"type": "job_agent", "name": "patient", "kwargs": {"command": command}},
        ]
        spec = {
            "type": "scenarios",
            "scenario_ids": scenarios,
            "agent_configs": agents,
            "orchestrator_config": {"n_concurrent_trials": 3},
        }
        made = self.server.post("/v1/benchmark_jobs", {"name": mark, "spec": spec})
        self.told.append((mark, made["id"]))
        self.findings.count("jobs begun")
        finished, until = {}, time.monotonic() + 300
        while True:
            seen = self.server.get(f"/v1/benchmark_jobs/{made['id']}")
            self.keep_what_was_finished(finished, seen)
            if seen["state"] not in LIVE_JOB:
                break
            if time.monotonic() > until:
                self.findings.report(LOST, "a job that does not end", f"{made['id']} is {seen['state']}")
                return
            time.sleep(0.25)
        self.check(seen, scenarios)
        self.findings.count("jobs ended")

    def keep_what_was_finished(self, finished: dict, seen: dict) -> None:
        """What was told as an outcome once is told so forever."""
        for outcome in seen["benchmark_outcomes"]:
            run = outcome["benchmark_run_id"]
            if run in finished:
                self.findings.expect(finished[run] == outcome, LOST, "an outcome that was told", f"{finished[run]} became {outcome}")
            finished[run] = outcome

    def check(self, job: dict, scenarios: list[str]) -> None:
        self.findings.expect(job["state"] == "completed", FAILED, "a job", f"{job['id']} is {job['state']}: {job.get('failure_reason')}")
        self.findings.expect(len(job["benchmark_outcomes"]) == 3, LOST, "outcomes of a job", job["id"])
        for outcome in job["benchmark_outcomes"]:
            name = f"{job['id']}, {outcome['agent_name']}"
            told = outcome["scenario_outcomes"]
            states = [one["state"] for one in told]
            if not self.findings.expect(len(told) == len(scenarios), LOST, "scenarios of a job", f"{name}: {states}"):
                continue
            expected = 0.0 if outcome["agent_name"] == "nop" else 1.0
            for one in told:
                detail = f"{name}: {one['state']} {one.get('score')} {one.get('failure_reason')}"
                if self.findings.expect(one["state"] == "COMPLETED", FAILED, "a scenario of a job", detail):
                    self.findings.expect(one["score"] == expected, FAILED, "the score of a scenario of a job", detail)
            runs = self.server.everything(f"/v1/benchmark_runs/{outcome['benchmark_run_id']}/scenario_runs", "runs")
            for scenario in scenarios:
                settled = [one["id"] for one in runs if one["scenario_id"] == scenario and one["state"] == "completed"]
                self.findings.expect(len(settled) <= 1, DOUBLED, "a scenario of a job that was settled", f"{name}: {settled}")
            self.findings.count("scenarios of jobs settled", len(told))
            interrupted = sum(one["state"] != "completed" for one in runs)
            self.findings.count("tries of jobs that a kill interrupted", interrupted)

    def settle(self) -> None:
        listed = self.server.everything("/v1/benchmark_jobs", "jobs")
        for mark, job in self.told:
            named = [one["id"] for one in listed if one["name"] == mark]
            self.findings.expect(job in named, LOST, "an acknowledged job", job)
            self.findings.expect(len(named) <= 1, DOUBLED, "a job by one x-request-id", named)

