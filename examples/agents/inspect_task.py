"""A task of Inspect (PyPI: inspect-ai) as an agent: Inspect's own loop and logs, Proctor's world and score.

    pip install inspect-ai mcp
    proctor run fax-referral --model openai/gpt-5-mini \\
        --agent 'python3 examples/agents/inspect_task.py'

Any model that Inspect knows will do; its key is read from the environment.
"""

import os
import sys

from inspect_ai import Task, eval as inspect_eval, task
from inspect_ai.dataset import Sample
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import mcp_server_http, mcp_tools


@task
def attempt():
    world = mcp_server_http(
        name="task",
        url=os.environ["PROCTOR_MCP_URL"],
        headers={"Authorization": "Bearer " + os.environ["PROCTOR_TOKEN"]},
    )
    with open(os.environ["PROCTOR_PROBLEM_FILE"]) as file:
        problem = file.read()
    # `generate` goes on as long as the model calls tools.
    return Task(dataset=[Sample(input=problem)], solver=[use_tools(mcp_tools(world)), generate()], message_limit=60)


def main():
    model = os.environ.get("PROCTOR_MODEL_NAME", "mockllm/model")
    [log] = inspect_eval(attempt(), model=model, display="none", log_dir=os.path.dirname(os.environ["PROCTOR_TASK_FILE"]))
    print(log.status, log.location)
    return 0 if log.status == "success" else 1


sys.exit(main())
