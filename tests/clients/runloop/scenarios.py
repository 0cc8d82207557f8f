"""The whole life of a benchmark through the published Python client, sync and async."""

import asyncio
import io
import json
import zipfile

import runloop_api_client
from runloop_api_client import AsyncRunloop, Runloop
from runloop_api_client.lib.polling import PollingConfig

PATIENCE = PollingConfig(interval_seconds=0.05, max_attempts=2000)
SOLVED = "test \"$(cat answer.txt)\" = 42"


def contract(*scorers):
    return {
        "scoring_function_parameters": [
            {"name": f"scorer-{number}", "scorer": scorer, "weight": 1 / len(scorers)}
            for number, scorer in enumerate(scorers)
        ]
    }


def scenario(name, **more):
    return {
        "name": name,
        "input_context": {"problem_statement": "Write 42 into answer.txt"},
        "scoring_contract": contract(
            {"type": "command_scorer", "command": SOLVED},
            {"type": "bash_script_scorer", "bash_script": "echo looking; echo score=0.5"},
            {
                "type": "test_based_scorer",
                "test_command": "sh hidden.sh",
                "test_files": [{"file_path": "hidden.sh", "file_contents": SOLVED}],
            },
            {"type": "custom_scorer", "custom_scorer_type": "py-life", "scorer_params": {"want": 42}},
        ),
        **more,
    }


CUSTOM = 'test "$(cat answer.txt)" = "$(echo "$RL_SCORER_CONTEXT" | tr -dc 0-9)" && echo score=1.0 || echo score=0.0'


def check_scored(run):
    assert run.state == "scored", run
    result = run.scoring_contract_result
    scores = [one.score for one in result.scoring_function_results]
    assert scores == [1.0, 0.5, 1.0, 1.0], result
    assert abs(result.score - 0.875) < 1e-9, result
    assert all(one.state == "complete" for one in result.scoring_function_results), result
    assert "looking" in result.scoring_function_results[1].output, result


def check_logs(content, runs):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = set(archive.namelist())
        endings = ["setup.log", "exec.log", "agent.log", "scoring.log", "results.json"]
        assert names == {f"{run}_{ending}" for run in runs for ending in endings}, names
        for run in runs:
            results = json.loads(archive.read(f"{run}_results.json"))
            assert results["score"] == 0.875, results
            executed = archive.read(f"{run}_exec.log").decode()
            assert "echo 42" in executed and "hush-hush" not in executed, executed


def refused(kind, call):
    try:
        call()
    except kind as error:
        return error
    raise AssertionError("it was not refused")


def definitions(client):
    client.scenarios.scorers.create(type="py-life", bash_script=CUSTOM)
    first = client.scenarios.create(**scenario("py-first", metadata={"suite": "py"}))
    second = client.scenarios.create(
        **scenario("py-second", required_environment_variables=["MODEL"], required_secret_names=["TOKEN"])
    )
    assert [one.id for one in client.scenarios.list(name="py-first")] == [first.id]
    changed = client.scenarios.update(second.id, metadata={"suite": "py"})
    assert changed.required_secret_names == ["TOKEN"], changed
    benchmark = client.benchmarks.create(name="py-bench", scenario_ids=[first.id])
    benchmark = client.benchmarks.update_scenarios(benchmark.id, scenarios_to_add=[second.id])
    assert benchmark.scenario_ids == [first.id, second.id], benchmark
    found = [one.id for one in client.benchmarks.definitions(benchmark.id).scenarios]
    assert set(found) == {first.id, second.id}, found
    refused(
        runloop_api_client.BadRequestError,
        lambda: client.scenarios.create(
            name="py-bad",
            input_context={"problem_statement": "x"},
            scoring_contract=contract({"type": "custom_scorer", "custom_scorer_type": "py-nobody"}),
        ),
    )
    return first, second, benchmark


def life(client):
    first, second, benchmark = definitions(client)
    client.secrets.create(name="PY_LIFE", value="hush-hush")
    run = client.benchmarks.start_run(benchmark_id=benchmark.id, run_name="py-run", metadata={"by": "py"})
    assert run.state == "running" and run.metadata == {"by": "py"}, run
    missing = refused(
        runloop_api_client.BadRequestError,
        lambda: client.scenarios.start_run(scenario_id=second.id, benchmark_run_id=run.id),
    )
    assert "MODEL" in missing.body["message"] and "TOKEN" in missing.body["message"], missing.body
    profile = {"env_vars": {"MODEL": "m"}, "secrets": {"TOKEN": "PY_LIFE"}}
    taken = []
    for one in (first, second):
        started = client.scenarios.start_run_and_await_env_ready(
            scenario_id=one.id, benchmark_run_id=run.id, run_profile=profile, polling_config=PATIENCE
        )
        box = client.devboxes.retrieve(started.devbox_id)
        assert box.status == "running", box
        assert (box.initiator_type, box.initiator_id) == ("scenario", started.id), box
        told = client.devboxes.execute_sync(started.devbox_id, command='echo "$MODEL $TOKEN"; echo 42 > answer.txt')
        assert told.exit_status == 0 and told.stdout.startswith("m "), told
        assert client.scenarios.runs.score(started.id).state == "scoring"
        scored = client.scenarios.runs.await_scored(started.id, polling_config=PATIENCE)
        check_scored(scored)
        assert scored.environment_variables == {"MODEL": "m"}, scored
        left = client.devboxes.execute_sync(started.devbox_id, command="ls")
        assert "hidden.sh" not in left.stdout, left
        done = client.scenarios.runs.complete(started.id)
        assert done.state == "completed", done
        assert client.devboxes.retrieve(started.devbox_id).status == "shutdown"
        refused(runloop_api_client.BadRequestError, lambda: client.scenarios.runs.score(started.id))
        taken.append(started.id)
    ended = client.benchmark_runs.retrieve(run.id)
    assert ended.state == "completed" and ended.score == 0.875, ended
    listed = client.benchmark_runs.list_scenario_runs(run.id)
    assert {one.id for one in listed} == set(taken), listed
    check_logs(client.scenarios.runs.download_logs(taken[0]).read(), taken[:1])


async def async_life(client):
    made = await client.scenarios.create(**scenario("py-async"))
    benchmark = await client.benchmarks.create(name="py-async-bench", scenario_ids=[made.id])
    run = await client.benchmarks.start_run(benchmark_id=benchmark.id)

    async def take():
        started = await client.scenarios.start_run_and_await_env_ready(
            scenario_id=made.id, benchmark_run_id=run.id, polling_config=PATIENCE
        )
        await client.devboxes.write_file_contents(started.devbox_id, file_path="answer.txt", contents="42\n")
        scored = await client.scenarios.runs.score_and_await(started.id, polling_config=PATIENCE)
        check_scored(scored)
        return started

    first, second = await asyncio.gather(take(), take())
    done = await client.scenarios.runs.score_and_complete(first.id, polling_config=PATIENCE)
    assert done.state == "completed", done
    canceled = await client.scenarios.runs.cancel(second.id)
    assert canceled.state == "canceled", canceled
    ended = await client.benchmark_runs.retrieve(run.id)
    assert ended.state == "completed" and ended.score == 0.875, ended
    assert (await client.benchmark_runs.cancel(run.id)).state == "completed"
    box = await client.devboxes.retrieve(second.devbox_id)
    assert box.status == "shutdown", box


def main():
    life(Runloop())
    asyncio.run(async_life(AsyncRunloop()))
    print("scenarios through the Python client: well")


if __name__ == "__main__":
    main()
