"""Puts an instance's tests in place, runs them, and prints 1 if every test that must pass has passed."""

import base64
import json
import os
import re
import subprocess
import sys

CASE = json.loads(base64.b64decode("@CASE@"))


def run(command, **options):
    return subprocess.run(
        command, text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options
    )


def put_back(path):
    """A test file as it was before the agent came; one that was not there goes away."""
    git = ["git", "-c", "safe.directory=*"]
    if run([*git, "checkout", "--quiet", "proctor-base", "--", path]).returncode != 0 and os.path.lexists(path):
        os.remove(path)


def passed_tests(output):
    """The names of the tests that passed, as pytest and unittest tell them."""
    passed = set()
    for line in output.splitlines():
        for pattern in (r"PASSED (.+)", r"(.+?) \.\.\. ok"):
            found = re.fullmatch(pattern, line.strip())
            if found:
                passed.add(found.group(1).strip())
    return passed


def main():
    for path in CASE["test_files"]:
        put_back(path)
    if CASE["test_patch"].strip():
        patched = run(["patch", "-p1", "--batch", "--forward"], input=CASE["test_patch"])
        if patched.returncode != 0:
            print("the tests cannot be put in place:", patched.stdout, sep="\n", file=sys.stderr)
            return 0.0
    output = run(["/bin/bash", "-c", CASE["test_command"]], stdin=subprocess.DEVNULL).stdout
    passed = passed_tests(output)
    complete = True
    for name in ("fail_to_pass", "pass_to_pass"):
        missing = [test for test in CASE[name] if test not in passed]
        print(f"{name}: {len(CASE[name]) - len(missing)} of {len(CASE[name])}", file=sys.stderr)
        for test in missing[:20]:
            print(f"  did not pass: {test}", file=sys.stderr)
        complete = complete and not missing
    print(output[-20000:], file=sys.stderr)
    return 1.0 if complete else 0.0


print(main())
