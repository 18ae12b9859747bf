"""The page on the effect of each key and variable of Iggy, generated from the model."""

from collections.abc import Iterator
from typing import Final

from server_ng.config.iggy_keys import IGGY_KEYS, IGGY_VARIABLES, Fate, IggyKey
from server_ng.config.model import Settings, leaves, value_of
from server_ng.config.names import iggy_variable

__all__ = ["iggy_page"]

_HEAD: Final = """\
# Coming from Iggy: its configuration

`server-ng serve --config FILE` reads the configuration file of an Iggy 0.9 server; `IGGY_CONFIG_PATH` can
name it, too. The variable of a setting is `IGGY_` and the key in capitals, with `_` for each dot. A setting
that Iggy lacks has `SERVER_NG__` and `__` for each dot, as in `SERVER_NG__LEASES__COUNT_MAX`. Variables win
over the file; empty ones are ignored. `server-ng config check` checks a configuration without a start. This
page is generated: `server-ng config iggy` prints it.

The two servers cannot share a data directory. Both default to `local_data`, and server-ng refuses a directory
with data of Iggy (`streams`, `state` or `metadata`) with status 78, before it writes anything. Set
`system.path` to another directory, or move the old one away. To take over messages, run both servers on
different ports, and copy the messages with a client.

Iggy 0.9.0 has no table `[system]`: `path` and the tables `runtime`, `logging`, `encryption`, `partition`,
`sharding` and `memory_pool` are at the top level, and variables have no `SYSTEM_` (`IGGY_PATH`). server-ng
reads files and variables of both shapes; this page uses the older one. If a file, or the environment, has one
setting in both shapes, the values must agree.

Once the server listens, `runtime/current_config.toml` has the whole configuration in both shapes, with the
real addresses and without secrets. It shows a key without effect with Iggy's default, and a transport that is
not built as disabled.

- **Honoured**: works as in Iggy, within the bounds in `configs/server.toml`.
- **No effect**: accepted, and listed in one warning of the start.
- **Refused**: the start exits with status 78 and names the remedy.

The flags of Iggy's server work for `server-ng serve`, with three limits:

- `--fresh`, `-f`: deletes all data, but only of a data directory that server-ng created and no process holds.
- `--with-default-root-credentials`: refused if other machines can reach `tcp.address`, unless a password is
  set.
- `--replica-id`: 0 only.

An unknown key is an error that suggests the nearest name. An unknown variable `IGGY_*` is a warning.
"""


def iggy_page() -> str:
    """The page, in Markdown."""
    return "\n".join((_HEAD, *_honoured(), "", *_others(), "", *_variables())) + "\n"


def _honoured() -> Iterator[str]:
    defaults = Settings()
    yield "## Honoured\n\n| Key | Default here | Meaning |\n|---|---|---|"
    for key, leaf in leaves().items():
        if leaf.iggy:
            yield f"| `{key}` | `{leaf.kind.show(value_of(defaults, key))}` | {leaf.meaning} |"


def _others() -> Iterator[str]:
    yield "## Without effect, or refused\n\n| Key | Effect |\n|---|---|"
    yield from (f"| `{key}` | {_sentence(entry)} |" for key, entry in sorted(IGGY_KEYS.items()))


def _variables() -> Iterator[str]:
    yield "## Other variables\n\n| Variable | Effect |\n|---|---|"
    yield "| `IGGY_CONFIG_PATH` | Honoured. `--config` wins over it. |"
    yield "| `IGGY_ROOT_USERNAME`, `IGGY_ROOT_PASSWORD` | Honoured, both or none, for a new data directory. |"
    yield from (f"| `{name}` | {_sentence(entry)} |" for name, entry in sorted(IGGY_VARIABLES.items()))
    example = iggy_variable("cluster.nodes")
    yield f"| `{example}_0_NAME` and other elements of a list | As for the list. |"


def _sentence(entry: IggyKey) -> str:
    what = {
        Fate.INERT: "No effect.",
        Fate.REFUSED: "Refused.",
        Fate.REFUSED_IF_TRUE: "Refused if true, otherwise no effect.",
    }[entry.fate]
    return f"{what} {entry.advice}".rstrip()
