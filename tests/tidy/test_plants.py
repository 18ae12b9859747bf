"""Bugs can be planted in the simulator's own build, and in no other."""

import json
import re
import subprocess
from pathlib import Path

_FORWARDS = {"ng-control", "ng-mesh", "ng-replication", "ng-session", "ng-shard", "ng-sim"}
_PLANTS = re.compile(r"\[(?:[^]]*,)?plants\b")


def cargo(root: Path, *arguments: str) -> str:
    done = subprocess.run(["cargo", *arguments], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def planted_packages(root: Path, *arguments: str) -> list[str]:
    """Each package that a build of these has with the feature `plants`."""
    shape = ("--target", "all", "--prefix", "none", "--format", "{p} [{f}]")
    tree = cargo(root, "tree", *shape, *arguments)
    return sorted({line.split()[0] for line in tree.splitlines() if _PLANTS.search(line)})


def forwarders(metadata: str) -> list[str]:
    """Each package that turns `plants` on somewhere: by a feature of its own, or as a dependency."""
    found = set()
    for package in json.loads(metadata)["packages"]:
        features = [feature for named in package["features"].values() for feature in named]
        features += [feature for dependency in package["dependencies"] for feature in dependency["features"]]
        if any(feature == "plants" or feature.endswith("/plants") for feature in features):
            found.add(package["name"])
    return sorted(found)


def test_the_extension_has_no_plants(root: Path) -> None:
    assert planted_packages(root, "--package", "ng-abi") == []


def test_a_workspace_build_has_no_plants(root: Path) -> None:
    assert planted_packages(root, "--workspace") == []


def test_only_the_simulator_turns_plants_on(root: Path) -> None:
    metadata = cargo(root, "metadata", "--no-deps", "--format-version", "1")
    assert set(forwarders(metadata)) == _FORWARDS


def test_plants_that_are_on_are_found(root: Path) -> None:
    found = planted_packages(root, "--package", "ng-sim", "--features", "plants")
    assert set(found) == _FORWARDS | {"ng-partition", "ng-storage", "ng-vsr"}


def test_planted_forwarder_is_found() -> None:
    dependency = {"packages": [{"name": "a", "features": {}, "dependencies": [{"features": ["plants"]}]}]}
    default = {"packages": [{"name": "b", "features": {"default": ["c/plants"]}, "dependencies": []}]}
    assert forwarders(json.dumps(dependency)) == ["a"]
    assert forwarders(json.dumps(default)) == ["b"]
