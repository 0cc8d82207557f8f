"""pyx12: envelopes, counts, control numbers and HL numbers of every fixture; the whole of 999, TA1 and 277."""

import io
import logging
import pathlib
import shutil
import sys

import pyx12.params
import pyx12.x12file
import pyx12.x12n_document

fixtures, scratch = map(pathlib.Path, sys.argv[1:])
logging.getLogger("pyx12").setLevel(logging.CRITICAL)


def corrected_maps():
    """A copy of the shipped maps in which the 277 of 005010X212 is found, with its own GS codes."""
    maps = scratch / "maps"
    shutil.copytree(pathlib.Path(pyx12.__file__).parent / "map", maps)

    def replace(name, old, new):
        file = maps / name
        text = file.read_text()
        assert old in text, f"{name} no longer holds {old}"
        file.write_text(text.replace(old, new))

    entry = '<map vriic="005010X214" fic="HN" abbr="277">277.5010.X214.xml</map>'
    added = '<map vriic="005010X212" fic="HN" abbr="277">277.5010.X212.xml</map>'
    replace("maps.xml", entry, entry + added)
    replace("277.5010.X212.xml", "<code>RA</code>", "<code>HN</code>")
    replace("277.5010.X212.xml", "<code>005010X218</code>", "<code>005010X212</code>")
    return str(maps)


def envelope_errors(path):
    """What the reader finds in envelopes, counts and HL numbers."""
    reader = pyx12.x12file.X12Reader(str(path))
    for _ in reader:
        pass
    reader.cleanup()
    return reader.pop_errors()


def is_valid(path, maps):
    """The verdict on the whole interchange."""
    param = pyx12.params.params()
    param.set("map_path", maps)
    return pyx12.x12n_document.x12n_document(param, str(path), io.StringIO(), None, map_path=maps)


failed = 0


def say(right, what):
    global failed
    failed += not right
    print("ok" if right else "FAILED", "pyx12", what)


maps = corrected_maps()
for path in sorted(fixtures.glob("*.x12")):
    say(not envelope_errors(path), f"envelope of {path.stem}")
    if path.stem.startswith(("277", "999", "ta1")):
        say(is_valid(path, maps), f"whole of {path.stem}")

# The judge itself must be able to say no.
for name, old, new in [
    ("999-accepted", "IK5*A", "IK5*Q"),
    ("277-paid", "NM1*PR*2*Blue Harbor Health", "NM1*PR*2*"),
    ("ta1-accepted", "*A*000", "*Q*000"),
]:
    damaged = scratch / f"{name}-damaged.x12"
    damaged.write_text((fixtures / f"{name}.x12").read_text().replace(old, new))
    say(not is_valid(damaged, maps), f"refuses a damaged {name}")
damaged = scratch / "278-damaged.x12"
damaged.write_text((fixtures / "278-approved.x12").read_text().replace("SE*18", "SE*17"))
say(bool(envelope_errors(damaged)), "refuses a miscounted 278-approved")
sys.exit(failed > 0)
