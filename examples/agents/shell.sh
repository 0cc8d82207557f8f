#!/bin/sh
# An agent of a shell and curl: it takes a scenario in a devbox as far as one command takes it.
#
#   proctor run repairs --agent 'sh examples/agents/shell.sh'
set -eu
cat "$PROCTOR_PROBLEM_FILE"
curl --fail -sS -H "Authorization: Bearer $PROCTOR_TOKEN" -H 'Content-Type: application/json' \
    --data '{"command": "ls -la; git log --oneline 2>/dev/null | head -3"}' "$PROCTOR_DEVBOX_URL/execute_sync"
