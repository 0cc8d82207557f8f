"""Turns `cargo metadata` into a CycloneDX 1.5 document: every crate that the program is built from.

    cargo metadata --format-version 1 --locked | python3 scripts/sbom.py VERSION
"""

import json
import pathlib
import sys
import tomllib

LINKED = (None, "build")


def main() -> None:
    version = sys.argv[1]
    metadata = json.load(sys.stdin)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    lock = tomllib.loads(pathlib.Path("Cargo.lock").read_text())
    checksums = {(one["name"], one["version"]): one.get("checksum") for one in lock["package"]}

    # What tests alone need is not in the program.
    root = next(id for id in metadata["workspace_members"] if packages[id]["name"] == "proctor")
    used, open_ids = set(), [root]
    while open_ids:
        id = open_ids.pop()
        if id in used:
            continue
        used.add(id)
        for dependency in nodes[id]["deps"]:
            if any(kind["kind"] in LINKED for kind in dependency["dep_kinds"]):
                open_ids.append(dependency["pkg"])

    components = []
    for id in sorted(used - {root}, key=lambda id: (packages[id]["name"], packages[id]["version"])):
        package = packages[id]
        url = f"pkg:cargo/{package['name']}@{package['version']}"
        component = {"type": "library", "bom-ref": url, "name": package["name"], "version": package["version"], "purl": url}
        if package.get("license"):
            component["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
        if checksum := checksums.get((package["name"], package["version"])):
            component["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        components.append(component)

    document = {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"component": {"type": "application", "name": "proctor", "version": version, "bom-ref": f"pkg:cargo/proctor@{version}"}},
        "components": components,
    }
    json.dump(document, sys.stdout, indent=1)
    print()


main()
