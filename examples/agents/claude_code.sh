#!/bin/sh
# Claude Code takes a task with the task's own tools, over MCP. It needs `claude` (npm: @anthropic-ai/claude-code) and ANTHROPIC_API_KEY.
#
#   proctor run fax-referral --agent 'sh examples/agents/claude_code.sh'
set -eu
config=$(mktemp)
trap 'rm -f "$config"' EXIT
cat >"$config" <<JSON
{"mcpServers": {"task": {"type": "http", "url": "$PROCTOR_MCP_URL", "headers": {"Authorization": "Bearer $PROCTOR_TOKEN"}}}}
JSON
said=$(mktemp)
claude --print "$(cat "$PROCTOR_PROBLEM_FILE")" --output-format json --mcp-config "$config" --strict-mcp-config \
    --allowedTools 'mcp__task' ${PROCTOR_MODEL_NAME:+--model "$PROCTOR_MODEL_NAME"} >"$said"
cat "$said"
# What it used up is in its last words.
python3 - "$said" >>"$PROCTOR_USAGE_FILE" <<'PYTHON'
import json, sys
result = json.load(open(sys.argv[1]))
usage = result.get("usage") or {}
cached = usage.get("cache_read_input_tokens", 0)
tokens = usage.get("input_tokens", 0) + cached + usage.get("cache_creation_input_tokens", 0)
report = {"input_tokens": tokens, "cached_tokens": cached, "output_tokens": usage.get("output_tokens", 0)}
if result.get("total_cost_usd") is not None:
    report["cost_usd"] = result["total_cost_usd"]
print(json.dumps(report))
PYTHON
rm -f "$said"
