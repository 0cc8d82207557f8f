"""What boxes leave behind that can be seen from outside: directories, mounts, processes, control groups."""

import os
import pathlib

CGROUPS = pathlib.Path("/sys/fs/cgroup")


def directories(data: pathlib.Path) -> list[str]:
    """Directories of boxes; those that are being made or removed among them."""
    found = []
    for name in ("local/boxes", "local/trash", "shown"):
        place = data / "devboxes" / name
        if place.is_dir():
            found += [f"{name}/{entry.name}" for entry in place.iterdir()]
    return found


def mounts(data: pathlib.Path) -> list[str]:
    lines = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
    return [f"mount {line.split()[4]}" for line in lines if str(data) in line]


def processes(data: pathlib.Path, ours: set[str], server: int | None) -> list[str]:
    """Processes in a control group of one of our boxes, or with one of its files open. The server itself may."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) in (os.getpid(), server):
            continue
        try:
            # One that has ended and waits to be reaped is still in its groups, but sees no mounts.
            (entry / "mountinfo").read_text()
            groups = (entry / "cgroup").read_text().splitlines()
            below = [line.split("/proctor-", 1)[1].split("/") for line in groups if "/proctor-" in line]
            boxes = [parts[1] for parts in below if len(parts) > 1 and is_ours(parts[1], ours)]
            if boxes:
                found.append(f"process {entry.name} lives in box {boxes[0]}")
                continue
            for link in (entry / "fd").iterdir():
                if str(data) in os.readlink(link):
                    found.append(f"process {entry.name} has {os.readlink(link)} open")
                    break
        except (OSError, IndexError):
            continue
    return found


def control_groups(ours: set[str]) -> list[str]:
    found = []
    for place, directories, _ in os.walk(CGROUPS):
        if "/proctor-" in place + "/":
            found += [f"control group {place}/{name}" for name in directories if is_ours(name, ours)]
    return found


def is_ours(name: str, ours: set[str]) -> bool:
    """Whether a box is named after something of ours: a devbox, or a scenario run that is scored beside its own."""
    lowered = name.lower()
    return any(part in lowered for part in ours)


def all_of(data: pathlib.Path, ids: set[str], server: int | None) -> list[str]:
    # The letters and digits of an id are in the names of all that belongs to it.
    ours = {id.split("_")[-1].lower() for id in ids}
    return directories(data) + mounts(data) + processes(data, ours, server) + control_groups(ours)
