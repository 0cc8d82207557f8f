"""Runs that are there to be compared: a benchmark whose every task is decided by which files are written, so every score is planted."""

import json
import pathlib
import subprocess
import tempfile

TASKS = 16


def benchmark(version: int) -> dict:
    """The benchmark as a file; the second version has one task more and another criterion in the first."""
    tasks = []
    for number in range(TASKS + version - 1):
        label = "The note is filed, in time" if version > 1 and number == 0 else "The note is filed"
        present = {"assert": "sftp-file-present", "parse": "text"}
        tasks.append({
            "name": f"File note {number:02}",
            "task_item": f"File note {number:02} and its copy.",
            "criteria": [
                {"label": label, "axis": "accuracy", "weight": 0.6, "assertion": {**present, "path_glob": "outbound/note.txt"}},
                {"label": "The copy is filed", "axis": "workflow", "weight": 0.4, "assertion": {**present, "path_glob": "outbound/copy.txt"}},
                {"label": "Nothing reaches the wrong folder", "axis": "safety", "weight": 0, "critical": True, "key": "wrong-folder",
                 "assertion": {**present, "path_glob": "wrong/**", "min_count": 0, "max_count": 0}},
            ],
        })
    environment = {"name": "A drive", "simulators": [{"type": "Files", "name": "Shared drive"}]}
    return {"name": "Filing", "slug": "filing", "visibility": "Private", "environment": environment, "timeout": 900, "concurrency": 1, "tasks": tasks}


def push(program, url: str, key: str, version: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        file = pathlib.Path(place) / "filing.json"
        file.write_text(json.dumps(benchmark(version)))
        command = [program, "benchmark", "push", "--publish", "--server", url, "--key", key, file]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def take(call, url: str, key: str, agent: str, marks: str, version: int = 1, **more) -> str:
    """Takes the benchmark: for each task a letter, `f` for everything, `n` for the note alone, `x` for harm, `-` for nothing, `v` to stop it, which
    makes it void."""
    run = call(url, key, "/benchmark-runs", {"benchmark": f"filing@{version}", "agent": agent, **more})
    assert "bearer_token" in run, run
    token, prefix = run["bearer_token"], f"/v1/benchmark-runs/{run['benchmark_run_id']}"
    for task, mark in zip(run["task_runs"], marks):
        call(url, token, task["start_url"], {})
        if mark == "v":
            call(url, key, f"/task-runs/{task['id']}/cancel", {})
            continue
        files = {"f": ["outbound/note.txt", "outbound/copy.txt"], "n": ["outbound/note.txt"], "x": ["outbound/note.txt", "outbound/copy.txt", "wrong/note.txt"], "-": []}[mark]
        for file in files:
            call(url, token, f"{prefix}/files/{file}", b"filed", "PUT", "text/plain")
        call(url, token, task["complete_url"], {})
    return run["benchmark_run_id"]


def compared(call, program, url: str, key: str) -> dict:
    push(program, url, key, 1)
    even = "fn" * (TASKS // 2)
    runs = {
        # The same, but for two tasks that are worse, one that is better, and one that does harm.
        "a": take(call, url, key, "filing-one", even, labels={"branch": "main"}),
        "b": take(call, url, key, "filing-two", "-nffxn" + even[6:], labels={"branch": "feature/<b>"}),
        "equal1": take(call, url, key, "equal one", even),
        "equal2": take(call, url, key, "equal two", even),
        "equal3": take(call, url, key, "equal three", even),
        "star": take(call, url, key, "star", "f" * TASKS),
        "void": take(call, url, key, "filing-one", "fvvn" + even[4:]),
        "few": take(call, url, key, "filing-one", even[:12], tasks=[f"File note {number:02}" for number in range(12)]),
    }
    push(program, url, key, 2)
    runs["other_version"] = take(call, url, key, "filing-one", even + "f", version=2)
    for name in ("equal1", "equal2", "equal3", "star", "a"):
        call(url, key, f"/benchmark-runs/{runs[name]}/publish", {"reason": "for the board"})
    call(url, key, f"/benchmark-runs/{runs['a']}/unpublish", {"reason": "measured by mistake"})
    policy = {"about": "tasks", "line": [{"kind": "change", "at": -0.05}]}
    gate = call(url, key, "/gates", {"run": runs["equal1"], "baseline": {"runs": [runs["star"]]}, "policy": policy})
    kept = call(url, key, "/comparisons", {"a": {"runs": [runs["a"]]}, "b": {"runs": [runs["b"]]}, "about": "tasks", "axes": True})
    assert gate.get("id") and kept.get("id"), (gate, kept)
    return {"runs": runs, "gate": gate, "comparison": kept}
