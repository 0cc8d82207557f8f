"""What was done, and what was wrong with it."""

import collections
import threading

LOST = "lost"
DOUBLED = "doubled"
LEAKED = "leaked"
FAILED = "failed by recovery"
KINDS = (LOST, DOUBLED, LEAKED, FAILED)


class Findings:
    """Counts of what was done and of what went wrong, from any thread."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.done = collections.Counter()
        self.wrong = {kind: [] for kind in KINDS}

    def count(self, what: str, by: int = 1) -> None:
        with self.lock:
            self.done[what] += by

    def report(self, kind: str, what: str, detail: str) -> None:
        with self.lock:
            self.wrong[kind].append((what, detail))
        print(f"  {kind.upper()}: {what}: {detail[:400]}", flush=True)

    def expect(self, holds: bool, kind: str, what: str, detail: object) -> bool:
        if not holds:
            self.report(kind, what, str(detail))
        return holds

    def table(self) -> str:
        lines = [f"{'done':<64}{'count':>7}"]
        lines += [f"{what:<64}{count:>7}" for what, count in sorted(self.done.items())]
        lines.append("")
        lines.append(f"{'wrong':<64}{'count':>7}")
        for kind in KINDS:
            lines.append(f"{kind:<64}{len(self.wrong[kind]):>7}")
            for what, count in collections.Counter(what for what, _ in self.wrong[kind]).most_common():
                lines.append(f"    {what:<60}{count:>7}")
        return "\n".join(lines)

    @property
    def is_clean(self) -> bool:
        return not any(self.wrong.values())
