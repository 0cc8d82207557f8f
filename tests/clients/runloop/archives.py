"""Whether an archive holds what `expected.json` beside it says, by one of several readers: archives.py READER DIRECTORY."""

import json
import pathlib
import subprocess
import sys
import zipfile


def by_zipfile(archive):
    with zipfile.ZipFile(archive) as opened:
        assert opened.testzip() is None
        return {name: opened.read(name) for name in opened.namelist()}


def by_unzip(archive):
    """Info-ZIP, entry by entry; `-t` checks the sizes behind each of them too."""
    tested = subprocess.run(["unzip", "-tq", archive], capture_output=True, text=True)
    assert tested.returncode == 0 and "warning" not in (tested.stdout + tested.stderr).lower(), tested
    names = subprocess.run(["unzip", "-Z1", archive], check=True, capture_output=True, text=True).stdout.split()
    read = lambda name: subprocess.run(["unzip", "-p", archive, name], check=True, capture_output=True).stdout
    return {name: read(name) for name in names}


def by_libarchive(archive):
    """As a stream: without the directory at the end, only the headers and sizes beside the entries tell what they are."""
    def bsdtar(*arguments):
        with archive.open("rb") as stream:
            return subprocess.run(["bsdtar", *arguments], stdin=stream, check=True, capture_output=True).stdout

    names = bsdtar("-tf", "-").decode().split()
    return {name: bsdtar("-xOf", "-", name) for name in names}


reader, directory = sys.argv[1], pathlib.Path(sys.argv[2])
expected = json.loads((directory / "expected.json").read_text())
found = {"zipfile": by_zipfile, "unzip": by_unzip, "libarchive": by_libarchive}[reader](directory / "logs.zip")
assert {name: content.decode() for name, content in found.items()} == expected, found.keys()
