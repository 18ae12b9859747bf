"""The example of the page about Spark does what the page says."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from matplotlib.image import imread
from pyspark.sql import SparkSession

from server_ng.spark.command import main
from tests.support.fixtures import StartNode
from tests.support.node import Node
from tests.support.raw import PASSWORD, USERNAME

PAGE = Path("server_ng") / "spark" / "README.md"


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def fill(node: Node, program: str) -> int:
    """Runs the program that fills the topic, against this server; how many messages it sent."""
    for shown, here in (("127.0.0.1:8090", node.tcp), ('"iggy", "iggy"', f'"{USERNAME}", "{PASSWORD}"')):
        assert shown in program
        program = program.replace(shown, here)
    environment: dict[str, Any] = {}
    exec(compile(program, str(PAGE), "exec"), environment)
    return sum(environment["EACH_HOUR"])


def test_the_example_and_the_query_of_the_page(
    spark: SparkSession,
    start_node: StartNode,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    node = start_node()
    node.data.with_name("local_data").symlink_to(node.data)
    monkeypatch.chdir(node.folder)
    monkeypatch.setenv("MPLBACKEND", "agg")
    text = (root / PAGE).read_text()
    filling, example = blocks(text, "python")
    sent = fill(node, filling)
    # A second run of the program finds the topic and sends nothing.
    fill(node, filling)
    assert len([line for line in example.splitlines() if line]) <= 10
    exec(compile(example, str(PAGE), "exec"), {})
    (picture,) = re.findall(r"^!\[[^]]+\]\((.*)\)$", text, re.MULTILINE)
    shown = imread((root / PAGE).parent / picture)
    drawn = imread(node.folder / Path(picture).name)
    assert drawn.shape == shown.shape
    # Another processor may round the edge of a letter in another way.
    assert float(abs(drawn - shown).mean()) < 0.002
    (query,) = re.findall(r"`(server-ng spark sql [^`]*)`", text)
    assert main(shlex.split(query)[2:]) == 0
    assert re.search(rf"\|\s*{sent}\|", capsys.readouterr().out)
