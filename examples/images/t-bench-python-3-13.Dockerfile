# The base of many Terminal-Bench tasks. As a blueprint named t-bench/python-3-13 it is what FROM t-bench/python-3-13 means; its build needs a network
# policy that reaches the distribution's packages.
FROM python:3.13-slim-bookworm
RUN apt-get update && apt-get install -y --no-install-recommends tmux asciinema && rm -rf /var/lib/apt/lists/*
WORKDIR /app
