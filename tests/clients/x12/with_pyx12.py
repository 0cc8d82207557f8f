"""pyx12: envelopes, counts, control numbers and HL numbers of every fixture; the whole of 999, TA1, 277CA, 835 and 837P."""

import io
import logging
import pathlib
import sys

import pyx12.params
import pyx12.x12file
import pyx12.x12n_document

fixtures, scratch = map(pathlib.Path, sys.argv[1:])
logging.getLogger("pyx12").setLevel(logging.CRITICAL)


def envelope_errors(path):
    """What the reader finds in envelopes, counts and HL numbers."""
    reader = pyx12.x12file.X12Reader(str(path))
    for _ in reader:
        pass
    reader.cleanup()
    return reader.pop_errors()


def is_valid(path):
    """The verdict on the whole interchange."""
    try:
        return pyx12.x12n_document.x12n_document(pyx12.params.params(), str(path), io.StringIO(), None)
    except AttributeError:
        # It cannot file an error of a TA1, which stands outside of any transaction.
        return False


failed = 0


def say(right, what):
    global failed
    failed += not right
    print("ok" if right else "FAILED", "pyx12", what)


for path in sorted(fixtures.glob("*.x12")):
    say(not envelope_errors(path), f"envelope of {path.stem}")
    if path.stem.startswith(("999", "ta1", "277ca", "835", "837")):
        say(is_valid(path), f"whole of {path.stem}")

# The judge itself must be able to say no.
for name, old, new in [
    ("999-accepted", "IK5*A", "IK5*Q"),
    ("ta1-accepted", "*A*000", "*Q*000"),
    ("837-claims", "CLM*CLM7001", "CLM*"),
    ("837-claims", "SV1*HC:72148", "SV1*XX:72148"),
    ("277ca-accepted", "STC*A2:20*20260421*WQ", "STC*A2:20*20260421*QQ"),
    ("835-paid-and-denied", "CLP*CLM7002*4", "CLP*CLM7002*9"),
    ("835-paid-and-denied", "CAS*CO*197", "CAS*XX*197"),
]:
    damaged = scratch / f"{name}-damaged.x12"
    damaged.write_text((fixtures / f"{name}.x12").read_text().replace(old, new))
    say(not is_valid(damaged), f"refuses a damaged {name}")
damaged = scratch / "278-damaged.x12"
damaged.write_text((fixtures / "278-approved.x12").read_text().replace("SE*18", "SE*17"))
say(bool(envelope_errors(damaged)), "refuses a miscounted 278-approved")
sys.exit(failed > 0)
