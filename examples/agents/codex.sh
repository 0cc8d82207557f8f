#!/bin/sh
# Codex CLI takes a task with the task's own tools, over MCP. It needs `codex` (npm: @openai/codex) and OPENAI_API_KEY.
#
#   proctor run fax-referral --agent 'sh examples/agents/codex.sh'
set -eu
CODEX_HOME=$(mktemp -d)
export CODEX_HOME
trap 'rm -rf "$CODEX_HOME"' EXIT
cat >"$CODEX_HOME/config.toml" <<TOML
[mcp_servers.task]
url = "$PROCTOR_MCP_URL"
bearer_token_env_var = "PROCTOR_TOKEN"
TOML
codex exec --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox \
    ${PROCTOR_MODEL_NAME:+--model "$PROCTOR_MODEL_NAME"} - <"$PROCTOR_PROBLEM_FILE"
