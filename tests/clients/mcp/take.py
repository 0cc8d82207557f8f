"""Takes a task with the official Python client: `take.py STEPS`, over HTTP, or over `proctor mcp` where PROCTOR is set.

Prints what the last step answered.
"""

import asyncio
import json
import os
import pathlib
import re
import sys

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client


def connection():
    url, token = os.environ["PROCTOR_MCP_URL"], os.environ["PROCTOR_TOKEN"]
    if "PROCTOR" in os.environ:
        return StdioServerParameters(
            command=os.environ["PROCTOR"], args=["mcp"], env={"PROCTOR_MCP_URL": url, "PROCTOR_TOKEN": token}
        )
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=120)
    return streamable_http_client(url, http_client=http)


def filled(value, known):
    """The arguments of a step with what earlier steps gave."""
    text = re.sub(r"\{\{(\w+)\}\}", lambda found: known[found[1]], json.dumps(value))
    return json.loads(text)


async def main():
    steps = json.loads(pathlib.Path(os.environ["STEPS"]).read_text())[sys.argv[1]]
    mode = os.environ.get("MCP_MODE", "auto")
    known = {}
    async with Client(connection(), mode=mode) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        missing = {step["tool"] for step in steps} - tools
        assert not missing, missing
        prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert prompts == ["task"], prompts
        resources = (await client.list_resources()).resources
        text = (await client.read_resource(str(resources[0].uri))).contents[0].text
        prompt = (await client.get_prompt("task")).messages[0].content.text
        assert text == prompt and "Call `complete` once" in text, text
        for step in steps:
            result = await client.call_tool(step["tool"], filled(step["arguments"], known))
            said = result.content[0].text
            assert not result.is_error, (step, said)
            for name, member in step.get("pick", {}).items():
                known[name] = json.loads(said)[member]
        wrong = await client.call_tool("complete", {"score": 1})
        assert wrong.is_error and "takes none" in wrong.content[0].text, wrong
        late = await client.call_tool(steps[0]["tool"], steps[0]["arguments"])
        assert late.is_error and "completed" in late.content[0].text, late
        try:
            await client.call_tool("no_such_tool", {})
        except Exception as error:  # the SDK's name for it has changed before
            assert "there is no tool 'no_such_tool'" in str(error), error
        else:
            raise AssertionError("an unknown tool was called")
        print(said)


asyncio.run(main())
