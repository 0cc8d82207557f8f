"""Harbor runs its `nop` agent on a task so many times: ATTEMPTS AT_ONCE DIRECTORY. Prints how many trials have a reward.

There is no container engine here, so the environment is one in memory: commands do nothing, and the verifier's reward is a file.
"""

import asyncio
import pathlib
import sys

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.job import Job
from harbor.models.job.config import JobConfig


class Memory(BaseEnvironment):
    """An environment that does nothing, as fast as can be."""

    @staticmethod
    def type():
        return "memory"

    @property
    def capabilities(self):
        from harbor.environments.capabilities import EnvironmentCapabilities

        return EnvironmentCapabilities()

    def _validate_definition(self):
        pass

    async def start(self, force_build):
        pass

    async def stop(self, delete):
        pass

    async def upload_file(self, source_path, target_path):
        pass

    async def upload_dir(self, source_dir, target_dir):
        pass

    async def download_file(self, source_path, target_path):
        pathlib.Path(target_path).write_text("0\n")

    async def download_dir(self, source_dir, target_dir):
        target = pathlib.Path(target_dir)
        target.mkdir(parents=True, exist_ok=True)
        if str(source_dir).rstrip("/").endswith("verifier"):
            (target / "reward.txt").write_text("0\n")

    async def exec(self, command, *arguments, **more):
        return ExecResult(stdout="", stderr="", return_code=0)


def make_task(place):
    files = {
        "task.toml": 'version = "1.0"\n[agent]\ntimeout_sec = 60.0\n[verifier]\ntimeout_sec = 60.0\n',
        "instruction.md": "Do nothing.\n",
        "environment/Dockerfile": "FROM scratch\n",
        "tests/test.sh": "#!/bin/sh\necho 0 > /logs/verifier/reward.txt\n",
        "solution/solve.sh": "#!/bin/sh\n",
    }
    for name, text in files.items():
        path = place / "noop" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return place / "noop"


async def main():
    attempts, at_once, place = int(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3])
    place.mkdir(parents=True, exist_ok=True)
    config = JobConfig.model_validate({
        "job_name": "noop",
        "jobs_dir": str(place / "jobs"),
        "n_attempts": attempts,
        "n_concurrent_trials": at_once,
        "quiet": True,
        "environment": {"import_path": "__main__:Memory"},
        "agents": [{"name": "nop"}],
        "tasks": [{"path": str(make_task(place))}],
    })
    job = await Job.create(config) if hasattr(Job, "create") else Job(config)
    await job.run()
    results = list((place / "jobs").glob("*/*/result.json"))
    rewarded = [one for one in results if '"reward"' in one.read_text()]
    print(len(rewarded))


if __name__ == "__main__":
    asyncio.run(main())
