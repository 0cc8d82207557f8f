"""Benchmark jobs through the published Python client."""

import io
import time
import zipfile

import runloop_api_client
from runloop_api_client import Runloop

SOLVED = "test \"$(cat answer.txt)\" = 42"
LIVE = {"initializing", "queued", "running"}


def scenario(client, name):
    made = client.scenarios.create(
        name=name,
        input_context={"problem_statement": "Write 42 into answer.txt"},
        reference_output="echo 42 > answer.txt",
        scoring_contract={
            "scoring_function_parameters": [
                {"name": "answer", "weight": 1, "scorer": {"type": "command_scorer", "command": SOLVED}}
            ]
        },
    )
    return made.id


def over(client, job):
    while True:
        seen = client.benchmark_jobs.retrieve(job)
        done = {one.benchmark_run_id for one in seen.benchmark_outcomes}
        under_way = {one.benchmark_run_id for one in seen.in_progress_runs}
        assert not done & under_way, seen
        if seen.state not in LIVE:
            return seen
        time.sleep(0.05)


def refused(call):
    try:
        call()
    except runloop_api_client.BadRequestError as error:
        return error.body["message"]
    raise AssertionError("it was not refused")


def of_a_benchmark(client):
    scenarios = [scenario(client, f"py-job-{number}") for number in range(3)]
    benchmark = client.benchmarks.create(name="py-job-bench", scenario_ids=scenarios)
    job = client.benchmark_jobs.create(
        name="py-job",
        spec={
            "type": "benchmark",
            "benchmark_id": benchmark.id,
            "agent_configs": [
                {"type": "job_agent", "name": "oracle"},
                {"type": "job_agent", "name": "nop", "model_name": "none"},
            ],
            "orchestrator_config": {"n_concurrent_trials": 3, "n_attempts": 1, "timeout_multiplier": 1.5},
        },
    )
    assert job.id.startswith("bmj_") and job.state in LIVE, job
    assert job.job_source.benchmark_id == benchmark.id, job
    seen = over(client, job.id)
    assert seen.state == "completed" and seen.failure_reason is None, seen
    oracle, nop = seen.benchmark_outcomes
    assert (oracle.agent_name, oracle.n_completed, oracle.average_score) == ("oracle", 3, 1.0), oracle
    assert (nop.api_model_name, nop.n_completed, nop.average_score) == ("none", 3, 0.0), nop
    assert [one.scenario_definition_id for one in oracle.scenario_outcomes] == scenarios, oracle
    run = client.benchmark_runs.retrieve(oracle.benchmark_run_id)
    assert run.state == "completed" and run.score == 1.0, run
    assert seen.job_spec.orchestrator_config.n_concurrent_trials == 3, seen.job_spec
    assert [one.id for one in client.benchmark_jobs.list(name="py-job").jobs] == [job.id]


def of_scenarios(client):
    client.secrets.create(name="PY_JOB", value="hush-hush-job")
    agent = {
        "type": "job_agent",
        "name": "mine",
        "model_name": "m-1",
        "timeout_seconds": 30.5,
        "kwargs": {"command": 'cat "$PROCTOR_PROBLEM_FILE"; echo " $PROCTOR_MODEL_NAME $KEY"; echo 42 > answer.txt'},
        "agent_environment": {"environment_variables": {"A": "b"}, "secrets": {"KEY": "PY_JOB"}},
    }
    job = client.benchmark_jobs.create(
        spec={
            "type": "scenarios",
            "scenario_ids": [scenario(client, "py-job-alone")],
            "agent_configs": [agent],
        }
    )
    seen = over(client, job.id)
    (outcome,) = seen.benchmark_outcomes
    assert outcome.average_score == 1.0 and outcome.n_failed == 0, seen
    run = outcome.scenario_outcomes[0].scenario_run_id
    content = client.scenarios.runs.download_logs(run).read()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        printed = archive.read(f"{run}_agent.log").decode()
    assert "Write 42 into answer.txt m-1" in printed and "hush-hush-job" not in printed, printed


def of_registered_agents(client):
    """Programs name agents by name or id alone; how they are started is in their manifests."""
    agent = client.agents.create(name="py-registered", version="1.0.0")
    one = scenario(client, "py-job-registered")
    configs = [
        {"type": "job_agent", "name": "py-registered"},
        {"type": "job_agent", "name": "by-id", "agent_id": agent.id},
    ]
    spec = {"type": "scenarios", "scenario_ids": [one], "agent_configs": configs}
    told = refused(lambda: client.benchmark_jobs.create(spec=spec))
    assert "/v1/agents/{id}/manifest" in told and "kwargs.command" in told, told
    manifest = {"command": 'echo "as $PY_KEY" && echo 42 > answer.txt', "env": ["PY_KEY"]}
    client.post(f"/v1/agents/{agent.id}/manifest", cast_to=object, body=manifest)
    told = refused(lambda: client.benchmark_jobs.create(spec=spec))
    assert "agent_environment.secrets.PY_KEY" in told, told
    client.secrets.create(name="py key.1", value="hush-hush-key")
    for config in configs:
        config["agent_environment"] = {"secrets": {"PY_KEY": "py key.1"}}
    seen = over(client, client.benchmark_jobs.create(spec=spec).id)
    assert [one.average_score for one in seen.benchmark_outcomes] == [1.0, 1.0], seen
    run = seen.benchmark_outcomes[0].scenario_outcomes[0].scenario_run_id
    with zipfile.ZipFile(io.BytesIO(client.scenarios.runs.download_logs(run).read())) as archive:
        logs = {name: archive.read(f"{run}_{name}.log").decode() for name in ("setup", "exec", "agent")}
    assert f"$ {manifest['command']}\n" in logs["exec"] and "PROCTOR_" not in logs["exec"], logs["exec"]
    assert logs["setup"].splitlines()[0].endswith("the devbox begins with the programs of its host"), logs["setup"]
    assert "hush" not in logs["agent"], logs["agent"]


def not_at_all(client):
    one = scenario(client, "py-job-refused")
    assert "spec" in refused(lambda: client.benchmark_jobs.create())
    told = refused(
        lambda: client.benchmark_jobs.create(
            spec={
                "type": "scenarios",
                "scenario_ids": [one],
                "agent_configs": [{"type": "job_agent", "name": "claude-code"}],
            }
        )
    )
    assert "oracle and nop" in told and "kwargs.command" in told, told
    told = refused(lambda: client.benchmark_jobs.create(spec={"type": "harbor", "inline_yaml": "x: y"}))
    assert "names no 'tasks'" in told, told


def main():
    client = Runloop()
    of_a_benchmark(client)
    of_scenarios(client)
    of_registered_agents(client)
    not_at_all(client)
    print("jobs through the Python client: well")


if __name__ == "__main__":
    main()
