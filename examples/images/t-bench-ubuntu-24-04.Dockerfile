# The base of many Terminal-Bench tasks. As a blueprint named t-bench/ubuntu-24-04 it is what FROM t-bench/ubuntu-24-04 means; its build needs a network
# policy that reaches the distribution's packages.
FROM ubuntu:24.04
RUN apt-get update && apt-get install -y --no-install-recommends tmux asciinema && rm -rf /var/lib/apt/lists/*
WORKDIR /app
