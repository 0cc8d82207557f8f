"""An agent with LangGraph (PyPI: langgraph, langchain-mcp-adapters, langchain): the task's tools come over MCP.

    pip install langgraph langchain langchain-mcp-adapters langchain-openai
    proctor run fax-referral --agent 'python3 examples/agents/langgraph_agent.py' --model openai:gpt-5-mini

Any chat model that LangChain knows will do; its key is read from the environment.
"""

import asyncio
import os

from langchain.chat_models import init_chat_model
from langchain_mcp_adapters.client import MultiServerMCPClient
from langgraph.prebuilt import create_react_agent


async def main():
    with open(os.environ["PROCTOR_PROBLEM_FILE"]) as file:
        problem = file.read()
    client = MultiServerMCPClient({"task": {
        "transport": "streamable_http",
        "url": os.environ["PROCTOR_MCP_URL"],
        "headers": {"Authorization": "Bearer " + os.environ["PROCTOR_TOKEN"]},
    }})
    model = init_chat_model(os.environ.get("PROCTOR_MODEL_NAME", "openai:gpt-5-mini"))
    agent = create_react_agent(model, await client.get_tools())
    ask = {"messages": [("system", "Do the task with the tools. Call `complete` when it is done."), ("user", problem)]}
    result = await agent.ainvoke(ask, {"recursion_limit": 120})
    print(result["messages"][-1].content)


asyncio.run(main())
