"""The page that tells what becomes of each key and variable of Iggy, generated from the model."""

from collections.abc import Iterator
from typing import Final

from server_ng.config.iggy_keys import IGGY_KEYS, IGGY_VARIABLES, Fate, IggyKey
from server_ng.config.model import Settings, leaves, value_of
from server_ng.config.names import iggy_variable

__all__ = ["iggy_page"]

_HEAD: Final = """\
# Coming from Iggy: what becomes of its configuration

`server-ng serve --config FILE` reads the file of an Iggy 0.9 server, and `IGGY_CONFIG_PATH` names it as
well. A variable is `IGGY_` and the key in capitals with `_` for each point (`SERVER_NG__` and `__` for a
setting that Iggy lacks: `SERVER_NG__LEASES__COUNT_MAX`); it wins over the file, and an
empty one is passed over. `server-ng config check` says what a configuration leads to, without a start. This
page is generated: `server-ng config iggy` prints it.

The data directory is not shared. Both servers default to `local_data`, and server-ng refuses a directory
that holds data of Iggy (`streams`, `state` or `metadata`) with status 78, before it writes anything. Set
`system.path` to another directory, or move the old one away. Messages move through clients: run both
servers on different ports, read from the one and send to the other.

Iggy 0.9.0 has no table `[system]`: `path` and the tables `runtime`, `logging`, `encryption`, `partition`,
`sharding` and `memory_pool` are at the top level, and variables lost `SYSTEM_` (`IGGY_PATH`). Files and
variables of both shapes are read; this page writes keys as the older one does. If a file, or the environment,
gives one setting in both shapes, the values must agree.

After binding, `runtime/current_config.toml` has all of it in both shapes, with the real addresses and
without secrets. A key without effect is shown there with Iggy's own default, a transport that is not served
as switched off.

- **Honoured**: it means what it means in Iggy, within the bounds that `configs/server.toml` tells.
- **No effect**: accepted, and named in one warning of the start.
- **Refused**: the start ends with status 78 and says what to do.

The flags of Iggy's server work for `server-ng serve`, with three bounds:

- `--fresh`, `-f`: deletes the data of a directory that this server founded and that no process holds.
- `--with-default-root-credentials`: refused if other machines can reach `tcp.address`, unless a password
  is set.
- `--replica-id`: 0 only.

A key that is neither Iggy's nor ours is an error with the nearest name. A variable `IGGY_*` that is none of
these is a warning.
"""


def iggy_page() -> str:
    """The page, in Markdown."""
    return "\n".join((_HEAD, *_honoured(), "", *_others(), "", *_variables())) + "\n"


def _honoured() -> Iterator[str]:
    defaults = Settings()
    yield "## Honoured\n\n| Key | Default here | What it is |\n|---|---|---|"
    for key, leaf in leaves().items():
        if leaf.iggy:
            yield f"| `{key}` | `{leaf.kind.show(value_of(defaults, key))}` | {leaf.meaning} |"


def _others() -> Iterator[str]:
    yield "## Without effect, or refused\n\n| Key | What happens |\n|---|---|"
    yield from (f"| `{key}` | {_sentence(entry)} |" for key, entry in sorted(IGGY_KEYS.items()))


def _variables() -> Iterator[str]:
    yield "## Variables beside the keys\n\n| Variable | What happens |\n|---|---|"
    yield "| `IGGY_CONFIG_PATH` | Honoured. `--config` wins over it. |"
    yield "| `IGGY_ROOT_USERNAME`, `IGGY_ROOT_PASSWORD` | Honoured, both or none, for a new data directory. |"
    yield from (f"| `{name}` | {_sentence(entry)} |" for name, entry in sorted(IGGY_VARIABLES.items()))
    example = iggy_variable("cluster.nodes")
    yield f"| `{example}_0_NAME` and other elements of a list | As the list. |"


def _sentence(entry: IggyKey) -> str:
    what = {
        Fate.INERT: "No effect.",
        Fate.REFUSED: "Refused.",
        Fate.REFUSED_IF_TRUE: "Refused if true, else no effect.",
    }[entry.fate]
    return f"{what} {entry.advice}".rstrip()
