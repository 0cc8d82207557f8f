"""An agent with the OpenAI Agents SDK (PyPI: openai-agents): the task's tools come over MCP. It needs OPENAI_API_KEY.

    pip install openai-agents
    proctor run fax-referral --agent 'python3 examples/agents/openai_agents.py' --model gpt-5-mini
"""

import asyncio
import json
import os

from agents import Agent, Runner
from agents.mcp import MCPServerStreamableHttp


async def main():
    with open(os.environ["PROCTOR_PROBLEM_FILE"]) as file:
        problem = file.read()
    connection = {
        "url": os.environ["PROCTOR_MCP_URL"],
        "headers": {"Authorization": "Bearer " + os.environ["PROCTOR_TOKEN"]},
        "timeout": 60,
    }
    model = os.environ.get("PROCTOR_MODEL_NAME", "gpt-5-mini")
    async with MCPServerStreamableHttp(name="task", params=connection) as task:
        agent = Agent(
            name="clerk",
            model=model,
            instructions="Do the task with the tools. Call `complete` when it is done.",
            mcp_servers=[task],
        )
        result = await Runner.run(agent, problem, max_turns=60)
    print(result.final_output)
    usage = result.context_wrapper.usage
    report = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens, "model": model}
    with open(os.environ["PROCTOR_USAGE_FILE"], "a") as file:
        print(json.dumps(report), file=file)


asyncio.run(main())
