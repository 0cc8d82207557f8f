"""The whole life of a benchmark through the published Python client, sync and async."""

import asyncio
import inspect
import io
import json
import zipfile

from runloop_api_client import AsyncRunloop, BadRequestError, Runloop
from runloop_api_client.lib.polling import PollingConfig

PATIENCE = PollingConfig(interval_seconds=0.05, max_attempts=2000)
SOLVED = "test \"$(cat answer.txt)\" = 42"
TOLD = 'echo "$MODEL $TOKEN"; cat answer.txt; echo amiss >&2'


def contract(*scorers):
    return {
        "scoring_function_parameters": [
            {"name": f"scorer-{number}", "scorer": scorer, "weight": 1 / len(scorers)}
            for number, scorer in enumerate(scorers)
        ]
    }


def scenario(name, custom, **more):
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
            {"type": "custom_scorer", "custom_scorer_type": custom, "scorer_params": {"want": 42}},
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


def check_logs(content, run):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        logs = {name: archive.read(name).decode() for name in archive.namelist()}
    endings = ["setup.log", "exec.log", "agent.log", "scoring.log", "results.json"]
    assert set(logs) == {f"{run}_{ending}" for ending in endings}, logs
    executed = logs[f"{run}_exec.log"].splitlines()
    for expected in ("answer.txt was written, 3 bytes", f"] $ {TOLD}", "] 42", "] stderr: amiss", "] exited with 0"):
        assert any(line.endswith(expected) for line in executed), (expected, executed)
    assert "looking" in logs[f"{run}_scoring.log"], logs
    results = json.loads(logs[f"{run}_results.json"])
    assert (results["scenario_run_id"], results["state"], results["score"]) == (run, "completed", 0.875), results
    assert not any("hush-hush" in log for log in logs.values()), logs


async def of(call):
    """What a call comes to: the sync client has it at once, the async one is waited for."""
    return await call if inspect.isawaitable(call) else call


async def every(listed):
    """All that is listed, over all its pages."""
    return [one async for one in listed] if hasattr(listed, "__aiter__") else list(listed)


async def refused(call):
    try:
        await of(call())
    except BadRequestError as error:
        return error
    raise AssertionError("it was not refused")


async def definitions(client, name):
    custom = f"{name}-life"
    await of(client.scenarios.scorers.create(type=custom, bash_script=CUSTOM))
    first = await of(client.scenarios.create(**scenario(f"{name}-first", custom, metadata={"suite": name})))
    required = {"required_environment_variables": ["MODEL"], "required_secret_names": ["TOKEN"]}
    second = await of(client.scenarios.create(**scenario(f"{name}-second", custom, **required)))
    assert [one.id for one in await every(client.scenarios.list(name=f"{name}-first"))] == [first.id]
    changed = await of(client.scenarios.update(second.id, metadata={"suite": name}))
    assert changed.required_secret_names == ["TOKEN"], changed
    benchmark = await of(client.benchmarks.create(name=f"{name}-bench", scenario_ids=[first.id]))
    benchmark = await of(client.benchmarks.update_scenarios(benchmark.id, scenarios_to_add=[second.id]))
    assert benchmark.scenario_ids == [first.id, second.id], benchmark
    defined = await of(client.benchmarks.definitions(benchmark.id))
    assert {one.id for one in defined.scenarios} == {first.id, second.id}, defined
    nobody = contract({"type": "custom_scorer", "custom_scorer_type": f"{name}-nobody"})
    await refused(
        lambda: client.scenarios.create(
            name=f"{name}-bad", input_context={"problem_statement": "x"}, scoring_contract=nobody
        )
    )
    return first, second, benchmark


async def take(client, one, run, secret):
    """One scenario of a benchmark run, from its start to its logs."""
    profile = {"env_vars": {"MODEL": "m"}, "secrets": {"TOKEN": secret}}
    started = await of(
        client.scenarios.start_run_and_await_env_ready(
            scenario_id=one.id, benchmark_run_id=run.id, run_profile=profile, polling_config=PATIENCE
        )
    )
    assert (started.state, started.scenario_id, started.benchmark_run_id) == ("running", one.id, run.id), started
    box = await of(client.devboxes.retrieve(started.devbox_id))
    assert (box.status, box.initiator_type, box.initiator_id) == ("running", "scenario", started.id), box

    await of(client.devboxes.write_file_contents(box.id, file_path="answer.txt", contents="42\n"))
    told = await of(client.devboxes.execute_and_await_completion(box.id, command=TOLD, polling_config=PATIENCE))
    assert (told.status, told.exit_status, told.stderr) == ("completed", 0, "amiss\n"), told
    assert told.stdout == "m hush-hush\n42\n", told

    scored = await of(client.scenarios.runs.score_and_await(started.id, polling_config=PATIENCE))
    check_scored(scored)
    assert scored.environment_variables == {"MODEL": "m"}, scored
    left = await of(client.devboxes.execute_sync(box.id, command="ls"))
    assert left.stdout == "answer.txt\n", left
    # Once more, in the two steps that it is made of.
    assert (await of(client.scenarios.runs.score(started.id))).state == "scoring"
    check_scored(await of(client.scenarios.runs.await_scored(started.id, polling_config=PATIENCE)))

    done = await of(client.scenarios.runs.complete(started.id))
    assert done.state == "completed" and done.scoring_contract_result == scored.scoring_contract_result, done
    assert (await of(client.devboxes.retrieve(box.id))).status == "shutdown"
    await refused(lambda: client.scenarios.runs.score(started.id))
    logs = await of(client.scenarios.runs.download_logs(started.id))
    check_logs(await of(logs.read()), started.id)
    return started.id


async def given_up(client, one):
    """A scenario outside of any benchmark run, which is canceled."""
    started = await of(client.scenarios.start_run(scenario_id=one.id, run_name="given-up"))
    assert (started.state, started.name, started.benchmark_run_id) == ("running", "given-up", None), started
    box = await of(client.devboxes.await_running(started.devbox_id, polling_config=PATIENCE))
    assert box.status == "running", box
    assert (await of(client.scenarios.runs.cancel(started.id))).state == "canceled"
    assert (await of(client.devboxes.retrieve(box.id))).status == "shutdown"


async def life(client, name):
    first, second, benchmark = await definitions(client, name)
    secret = await of(client.secrets.create(name=f"{name}_life".replace("-", "_").upper(), value="hush-hush"))
    named = {"run_name": f"{name}-run", "metadata": {"by": name}}
    run = await of(client.benchmarks.start_run(benchmark_id=benchmark.id, **named))
    assert (run.state, run.name, run.metadata) == ("running", f"{name}-run", {"by": name}), run
    missing = await refused(lambda: client.scenarios.start_run(scenario_id=second.id, benchmark_run_id=run.id))
    assert "MODEL" in missing.body["message"] and "TOKEN" in missing.body["message"], missing.body
    taken = [await take(client, one, run, secret.name) for one in (first, second)]
    ended = await of(client.benchmark_runs.retrieve(run.id))
    assert (ended.state, ended.score) == ("completed", 0.875), ended
    listed = await every(client.benchmark_runs.list_scenario_runs(run.id, limit=1))
    assert sorted(one.id for one in listed) == sorted(taken), listed
    await given_up(client, first)


def sync_life():
    """Without an event loop, since nothing of the sync client is waited for."""
    with Runloop() as client:
        try:
            life(client, "py").send(None)
        except StopIteration:
            return
    raise AssertionError("the sync client left something to wait for")


async def two_at_once(client):
    made = await client.scenarios.create(**scenario("py-two", "py-async-life"))
    benchmark = await client.benchmarks.create(name="py-two-bench", scenario_ids=[made.id])
    run = await client.benchmarks.start_run(benchmark_id=benchmark.id)

    async def scored():
        started = await client.scenarios.start_run_and_await_env_ready(
            scenario_id=made.id, benchmark_run_id=run.id, polling_config=PATIENCE
        )
        await client.devboxes.write_file_contents(started.devbox_id, file_path="answer.txt", contents="42\n")
        check_scored(await client.scenarios.runs.score_and_await(started.id, polling_config=PATIENCE))
        return started

    first, second = await asyncio.gather(scored(), scored())
    done = await client.scenarios.runs.score_and_complete(first.id, polling_config=PATIENCE)
    assert done.state == "completed", done
    canceled = await client.scenarios.runs.cancel(second.id)
    assert canceled.state == "canceled", canceled
    ended = await client.benchmark_runs.retrieve(run.id)
    assert ended.state == "completed" and ended.score == 0.875, ended
    assert (await client.benchmark_runs.cancel(run.id)).state == "completed"
    box = await client.devboxes.retrieve(second.devbox_id)
    assert box.status == "shutdown", box


async def async_life():
    async with AsyncRunloop() as client:
        await life(client, "py-async")
        await two_at_once(client)


def main():
    sync_life()
    asyncio.run(async_life())
    print("scenarios through the Python client: well")


if __name__ == "__main__":
    main()
