"""Large things for the pages: a run of 10,000 task runs, a world of 100,000 events, a log of 100 MB, a job under way.

What would take a server minutes is written into its files while it stands still, in the form in which it writes them itself: copies of
task runs, events with their chain, lines of a log.
"""

import glob
import hashlib
import json
import pathlib
import sqlite3
import struct

EVENTS = 100_000
TASK_RUNS = 10_000
LOG_BYTES = 100_000_000
# Every so many events have a mark by which reading begins.
STRIDE = 64
DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def bare(identifier: str) -> str:
    """An id as the database has it: without its prefix."""
    return identifier.split("_", 1)[-1]


def number_of(identifier: str) -> int:
    """The 128 bits of an id: Crockford's base 32 behind the prefix."""
    number = 0
    for letter in bare(identifier):
        number = number * 32 + DIGITS.index(letter)
    return number


def written(number: int) -> str:
    digits = []
    for _ in range(26):
        number, digit = divmod(number, 32)
        digits.append(DIGITS[digit])
    return "".join(reversed(digits))


def multiply(database: sqlite3.Connection, run: str) -> None:
    """Copies the task runs of a run, with their criterion runs, until there are 10,000."""
    columns = [row[1] for row in database.execute("PRAGMA table_info(task_runs)")]
    found = [row[1] for row in database.execute("PRAGMA table_info(criterion_runs)")]
    task_runs = database.execute(f"SELECT {', '.join(columns)} FROM task_runs WHERE run = ?", (bare(run),)).fetchall()
    criterion_runs = {row[0]: database.execute(f"SELECT {', '.join(found)} FROM criterion_runs WHERE task_run = ?", (row[0],)).fetchall() for row in task_runs}
    copies, judged = [], []
    for number in range(TASK_RUNS - len(task_runs)):
        original = task_runs[number % len(task_runs)]
        # Ids rise, and each is one of its own.
        fresh = written(number_of(original[0]) + (number + 1) * 2**20)
        copies.append((fresh, *original[1:]))
        for place, criterion in enumerate(criterion_runs[original[0]]):
            own = written(number_of(criterion[0]) + (number * 64 + place + 1) * 2**20)
            judged.append((own, fresh, *criterion[2:]))
    with database:
        marks = ", ".join("?" for _ in columns)
        database.executemany(f"INSERT INTO task_runs ({', '.join(columns)}) VALUES ({marks})", copies)
        marks = ", ".join("?" for _ in found)
        database.executemany(f"INSERT INTO criterion_runs ({', '.join(found)}) VALUES ({marks})", judged)


def link(before: bytes, world: bytes, seq: int, at: int, kind: str, payload: bytes) -> bytes:
    """The hash of an event, as the journal makes it."""
    lengths = struct.pack(">Q", len(kind)), struct.pack(">Q", len(payload))
    parts = [before, world, struct.pack(">Q", seq), struct.pack(">q", at), lengths[0], kind.encode(), lengths[1], payload]
    return hashlib.sha256(b"".join(parts)).digest()


def crowd(database: sqlite3.Connection, task_run: str) -> None:
    """Repeats the last look in a task run's world until its journal has 100,000 events."""
    world = bare(task_run)
    rows = database.execute("SELECT place, seq, at, kind, payload, hash FROM journal_events WHERE world = ? ORDER BY seq", (world,)).fetchall()
    look = [row for row in rows if row[3] == "look"][-1]
    (place, seq, at, *_, before), name = rows[-1], number_of(task_run).to_bytes(16, "big")
    (free,) = database.execute("SELECT next FROM journal_places").fetchone()
    events, marks, follows = [], [], place
    for number in range(seq + 1, EVENTS):
        at += 37
        before = link(before, name, number, at, "look", look[4])
        events.append((follows, free, world, number, at, "look", look[4], before))
        if number % STRIDE == 0:
            marks.append((world, number, follows))
        follows, free = free, free + 1
    with database:
        database.executemany("INSERT INTO journal_events (follows, place, world, seq, at, kind, payload, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", events)
        database.executemany("INSERT INTO journal_marks (world, seq, follows) VALUES (?, ?, ?)", marks)
        database.execute("UPDATE journal_places SET next = ?", (free,))


def fill_log(data: str, devbox: str, execution: str) -> None:
    """Makes the log of a devbox 100 MB long, with one line at its end that is nowhere else."""
    (path,) = glob.glob(f"{data}/**/logs/*/{devbox}.jsonl", recursive=True)

    def entry(number: int, text: str) -> str:
        what = {"line": {"error": False, "text": text, "end": number * 500}}
        return json.dumps({"at": 1_790_000_000_000 + number, "source": "exec", "execution": execution, "what": what}) + "\n"

    filler = "x" * 400
    with open(path, "a", encoding="utf-8") as log:
        number, length = 0, pathlib.Path(path).stat().st_size
        while length < LOG_BYTES:
            number += 1
            line = entry(number, f"line {number} \u001b[32mgreen\u001b[0m {filler}")
            length += len(line)
            log.write(line)
        log.write(entry(number + 1, "the needle </pre><script>alert(1)</script> is here"))


def grow(data: str, run: str, task_run: str, log: dict | None) -> None:
    """Makes everything large. No server may run meanwhile."""
    (path,) = glob.glob(f"{data}/*.db")
    database = sqlite3.connect(path)
    multiply(database, run)
    crowd(database, task_run)
    database.close()
    if log:
        fill_log(data, log["devbox"], log["execution"])
