"""Inspect evaluates a sample so many times with a solver that does nothing: ATTEMPTS AT_ONCE DIRECTORY. Prints how many were scored."""

import sys

from inspect_ai import Epochs, Task, eval as inspect_eval
from inspect_ai.dataset import Sample
from inspect_ai.scorer import Score, accuracy, scorer
from inspect_ai.solver import Generate, TaskState, solver


@solver
def nothing():
    async def solve(state: TaskState, generate: Generate):
        return state

    return solve


@scorer(metrics=[accuracy()])
def zero():
    async def score(state, target):
        return Score(value=0)

    return score


def main():
    attempts, at_once, place = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    task = Task(dataset=[Sample(input="Do nothing.", target="")], solver=nothing(), scorer=zero(), epochs=Epochs(attempts, "mean"))
    [log] = inspect_eval(task, model="mockllm/model", display="none", log_dir=place, max_samples=at_once)
    assert log.status == "success", log.error
    print(len(log.samples))


main()
