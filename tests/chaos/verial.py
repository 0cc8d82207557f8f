"""Runs in playgrounds: FHIR and file writes, and completes that come at the same moment as a last write."""

import threading

from findings import DOUBLED, FAILED, LOST
from lives import Life
from server import Server

PATIENTS = 4
TASKS = 2


def publish(server: Server) -> str:
    """Publishes a benchmark and returns the key of a Solver who may take it."""
    environment = server.post("/environments", {"name": "Ward"}, once=False)["id"]
    for kind in ("Fhir", "Files"):
        simulator = server.post("/simulators", {"type": kind, "name": kind}, once=False)["id"]
        server.post(f"/environments/{environment}/simulators/{simulator}", once=False)
    benchmark = server.post("/benchmarks", {"name": "Ward", "environment_id": environment, "timeout": 3600}, once=False)["id"]
    for number in range(TASKS):
        task = server.post("/tasks", {"benchmark_id": benchmark, "name": f"Task {number}"}, once=False)["id"]
        for patient in range(PATIENTS):
            assertion = {"assert": "fhir-resource-state", "resource_type": "Patient", "search": {"_id": f"p{patient}"}}
            body = {"task_id": task, "label": f"Patient {patient}", "assertion": assertion}
            server.post("/criteria", body, once=False)
    server.post(f"/benchmarks/{benchmark}/publish", {"slug": "ward"}, once=False)
    profile = {"alias": "ada", "real_name": "Ada", "agent_description": "Registers.", "contact_email": "ada@example.org"}
    solver = server.post("/solvers", profile, once=False)["id"]
    return server.post(f"/solvers/{solver}/api-keys", once=False)["key"]


class VerialRuns(Life):
    """A run of two tasks; in each the last write and the completing are sent at the same moment."""

    def live(self) -> None:
        begun = self.server.post("/v1/benchmark-runs", {"benchmark": "ward@1"}, key=self.setup["solver"], once=False)
        run, key = begun["benchmark_run_id"], begun["bearer_token"]
        self.findings.count("Verial runs begun")
        for task_run in begun["task_runs"]:
            self.take(run, task_run["id"], key)
        self.told.append(run)

    def take(self, run: str, task_run: str, key: str) -> None:
        started = self.server.ask("POST", f"/v1/task-runs/{task_run}/start", {}, key=key, once=False)
        # One that was started by a request whose answer was lost.
        is_started = started.is_fine or (started.unanswered and started.status == 409)
        if not self.findings.expect(is_started, LOST, "a start", f"{task_run}: {started}"):
            return
        writes = []
        for patient in range(PATIENTS - 1):
            writes.append(self.write(run, patient, key))
            path = f"/v1/benchmark-runs/{run}/files/outbound/{patient}.json"
            written = self.server.ask("PUT", path, {"done": patient}, key=key, once=False)
            self.findings.expect(written.is_fine, LOST, "a file", f"{task_run}: {written}")
            self.findings.count("Verial writes acknowledged")
        last, completed = self.at_the_same_moment(
            lambda: self.write(run, PATIENTS - 1, key),
            lambda: self.server.ask("POST", f"/v1/task-runs/{task_run}/complete", {}, key=key, once=False),
        )
        writes.append(last)
        if not self.findings.expect(completed.is_fine, LOST, "a completing", f"{task_run}: {completed}"):
            return
        self.findings.count("Verial tasks completed")
        self.check(task_run, writes, completed.body["score"])

    def write(self, run: str, patient: int, key: str):
        path = f"/v1/benchmark-runs/{run}/fhir/Patient/p{patient}"
        answer = self.server.ask("PUT", path, {"resourceType": "Patient", "id": f"p{patient}"}, key=key, once=False)
        self.findings.count("Verial writes acknowledged", answer.is_fine)
        return answer

    def at_the_same_moment(self, *calls) -> list:
        answers = [None] * len(calls)

        def call(place: int) -> None:
            try:
                answers[place] = calls[place]()
            except TimeoutError as error:
                self.findings.report(LOST, "an answer", repr(error))

        threads = [threading.Thread(target=call, args=(place,)) for place in range(len(calls))]
        for thread in threads:
            thread.start()
            self.pause(0.004)
        for thread in threads:
            thread.join()
        assert None not in answers, "no answer"
        return answers

    def check(self, task_run: str, writes: list, score: float) -> None:
        again = self.server.ask("POST", f"/task-runs/{task_run}/rescore", {}, once=False)
        if self.findings.expect(again.is_fine, LOST, "a frozen world", f"{task_run}: {again}"):
            self.findings.expect(again.body["score"] == score, FAILED, "score = rescore of a task", f"{task_run}: {score}, {again.body['score']}")
        recorded = self.recorded(task_run)
        for patient, answer in enumerate(writes):
            times = recorded.count(f"p{patient}")
            what = f"{task_run}: p{patient} was answered {answer.status} after {answer.unanswered} lost requests, recorded {times} times"
            # A request whose answer was lost may have been carried out.
            self.findings.expect(times >= answer.is_fine, LOST, "an acknowledged write", what)
            self.findings.expect(times <= answer.is_fine + answer.unanswered, DOUBLED, "a write in the journal", what)
        # What a task is worth is what its journal says.
        known = set(recorded)
        self.findings.expect(score == len(known) / PATIENTS, FAILED, "score of what is recorded", f"{task_run}: {score} for {sorted(known)}")

    def recorded(self, task_run: str) -> list[str]:
        """The patients that the journal of a task says were written."""
        playground = self.server.get(f"/playgrounds/{task_run.replace('tr_', 'pg_', 1)}")
        written = []
        for sandbox in playground["sandboxes"]:
            for event in self.server.get(f"/sandboxes/{sandbox['id']}/events?limit=100")["data"]:
                payload = event["payload"]
                asked = payload.get("request", payload)
                if asked.get("method") == "PUT" and payload.get("status", 500) < 300 and "/p" in str(asked.get("path", asked.get("url", ""))):
                    written.append(str(asked.get("path", asked.get("url"))).rsplit("/", 1)[-1])
        return [name for name in written if name.startswith("p")]

    def settle(self) -> None:
        for run in self.told:
            whole = self.server.get(f"/benchmark-runs/{run}")
            self.findings.expect(whole["status"] == "completed", LOST, "a run", f"{run} is {whole['status']}")
            for task_run in whole["task_runs"]:
                found = len(task_run["criterion_runs"])
                self.findings.expect(found == PATIENTS, DOUBLED, "results of a task", f"{task_run['id']}: {found}")
