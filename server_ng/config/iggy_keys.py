"""The fate of every key of Iggy's configuration that we lack."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import TypeAlias

__all__ = [
    "FOREIGN_VARIABLES",
    "IGGY_KEYS",
    "IGGY_SECRETS",
    "IGGY_VARIABLES",
    "Fate",
    "IggyKey",
    "IggyValue",
    "fate_of_key",
    "fate_of_variable",
]

IggyValue: TypeAlias = str | bool | int | tuple[str, ...] | None


class Fate(Enum):
    """What becomes of a key."""

    INERT = "inert"
    """Accepted without effect; one warning names all of them."""
    REFUSED = "refused"
    """An error, because the operator must act."""
    REFUSED_IF_TRUE = "refused if true"
    """Inert while false; an error when true, because ignoring it would be unsafe."""


@dataclass(frozen=True, slots=True)
class IggyKey:
    """The fate of one key, and a remedy."""

    fate: Fate
    advice: str = ""
    value: IggyValue = None
    """Iggy's default; none if it has none."""


_CERTIFICATE = "core/certs/iggy_cert.pem"
_PRIVATE_KEY = "core/certs/iggy_key.pem"

# Each key with the value Iggy gives it, `None` where it gives none. Secrets have an empty one.
_INERT_SECTIONS: Mapping[str, Mapping[str, IggyValue]] = {
    "consumer_group": {"rebalancing_timeout": "30s"},
    "http": {"max_request_size": "2 MB", "web_ui": False},
    "http.cors": {
        "enabled": True,
        "allowed_methods": ("GET", "POST", "PUT", "DELETE"),
        "allowed_origins": ("*",),
        "allowed_headers": ("content-type", "authorization"),
        "exposed_headers": ("iggy-view",),
        "allow_credentials": False,
        "allow_private_network": False,
    },
    "http.jwt": {
        "algorithm": "HS256",
        "issuer": "iggy.apache.org",
        "audience": "iggy.apache.org",
        "valid_issuers": ("iggy.apache.org",),
        "valid_audiences": ("iggy.apache.org",),
        "access_token_expiry": "1h",
        "clock_skew": "5s",
        "not_before": "0s",
        "encoding_secret": "",
        "decoding_secret": "",
        "use_base64_secret": False,
        "trusted_issuers": (),
    },
    "http.metrics": {"enabled": True, "endpoint": "/metrics"},
    "http.tls": {"enabled": False, "cert_file": _CERTIFICATE, "key_file": _PRIVATE_KEY},
    "tcp.tls": {"self_signed": True, "cert_file": _CERTIFICATE, "key_file": _PRIVATE_KEY},
    "quic": {
        "max_concurrent_bidi_streams": 1,
        "initial_mtu": "1200 B",
        "send_window": "64 MiB",
        "receive_window": "64 MiB",
        "stream_receive_window": "64 MiB",
        "keep_alive_interval": "10s",
        "max_idle_timeout": "30s",
    },
    "quic.certificate": {"self_signed": True, "cert_file": "", "key_file": ""},
    "websocket": {
        "accept_unmasked_frames": False,
        "read_buffer_size": None,
        "write_buffer_size": None,
        "max_write_buffer_size": None,
        "max_message_size": None,
        "max_frame_size": None,
    },
    "websocket.tls": {
        "enabled": False,
        "self_signed": True,
        "cert_file": _CERTIFICATE,
        "key_file": _PRIVATE_KEY,
    },
    "personal_access_token": {"max_tokens_per_user": 100},
    "personal_access_token.cleaner": {"enabled": True, "interval": "1m"},
    "heartbeat": {"enabled": True, "interval": "30s"},
    "telemetry": {"enabled": False, "service_name": "iggy"},
    "telemetry.logs": {"transport": "grpc", "endpoint": "http://localhost:7281/v1/logs"},
    "telemetry.traces": {"transport": "grpc", "endpoint": "http://localhost:7281/v1/traces"},
    "system.stream": {"path": "streams"},
    "system.topic": {"path": "topics"},
    "system.partition": {"path": "partitions", "validate_checksum": True},
    "system.logging": {
        "path": "logs",
        "file_enabled": True,
        "max_file_size": "500 MB",
        "max_total_size": "4 GB",
        "rotation_check_interval": "1h",
        "retention": "7days",
    },
    "system.encryption": {"key": ""},
    "system.segment": {"archive_expired": False},
    "system.memory_pool": {"enabled": True, "size": "4 GiB", "bucket_capacity": 8192},
    "system.sharding": {
        "reply_inbox_capacity": 1024,
        "shutdown_poll_interval": "50ms",
        "reconcile_periodic_interval": "1s",
    },
    "metadata": {"prepare_queue_depth": 32, "journal_slots": 1024},
    "partition": {
        "prepare_queue_depth": 32,
        "evicted_ring_capacity": 4096,
        "evicted_ring_bytes_max": "16 MiB",
        "transfer_served_cache_bytes_max": "2176 MiB",
        "transfer_artifact_bytes_max": "1088 MiB",
    },
    "message_bus": {
        "max_batch": 256,
        "peer_queue_capacity": 256,
        "reconnect_period": "5s",
        "close_peer_timeout": "2s",
        "close_grace": "2s",
        "handshake_grace": "10s",
    },
    "cluster": {
        "heartbeat_timeout": "5s",
        "commit_broadcast_interval": "500ms",
        "prepare_retransmit_interval": "250ms",
        "view_change_retransmit_interval": "500ms",
        "view_change_status_timeout": "5s",
        "request_start_view_retransmit_interval": "1s",
        "view_probe_attempts_max": 5,
        "repair_retry_interval": "1s",
        "repair_chunk_max": 128,
        "superblock_wedged_fatal_timeout": "2m",
        "nodes": (),
    },
    "cluster.auth": {"enabled": False, "shared_secret": "", "previous_shared_secret": ""},
    "cluster.tls": {"enabled": False, "self_signed": False, "cert_file": "", "key_file": "", "ca_file": ""},
    "cluster.coordinator": {"skip_shard_zero_for_replicas": True, "skip_shard_zero_for_clients": False},
}

# Keys of Iggy since 0.9.0. They have no value here, because files that show what is in force leave them out.
_INERT_SINCE_RELEASE: Mapping[str, tuple[str, ...]] = {
    "consumer_group": ("session_timeout", "heartbeat_interval"),
    "system.logging": ("sysinfo_print_interval",),
    "system.sharding": ("poll_completion_capacity", "partition_io_capacity", "partition_io_bytes_max"),
    "metadata": ("partitions_max",),
    "partition": (
        "wal_bytes_max",
        "wal_group_commit_delay_micros",
        "dedup_clients_max",
        "offset_reservation_lease",
    ),
    "message_bus": ("replica_read_buffer_size", "client_queue_capacity", "connections_max"),
    "cluster": ("repair_gap_debounce_interval",),
    "node": ("advertised_address",),
}

IGGY_SECRETS = frozenset(
    {
        "http.jwt.encoding_secret",
        "http.jwt.decoding_secret",
        "system.encryption.key",
        "cluster.auth.shared_secret",
        "cluster.auth.previous_shared_secret",
    }
)
"""Keys of Iggy that hold a secret: no file of ours has them, not even empty."""

_PER_TOPIC = "It is an option of each topic: set it when the topic is created."
_GONE = "Iggy has removed it: delete the key."

_REFUSED = {
    "system.topic.max_size": IggyKey(Fate.REFUSED, _PER_TOPIC),
    "system.topic.message_expiry": IggyKey(Fate.REFUSED, _PER_TOPIC),
    "system.partition.enforce_fsync": IggyKey(Fate.REFUSED, _PER_TOPIC),
    "system.partition.messages_required_to_save": IggyKey(Fate.REFUSED, _PER_TOPIC),
    "system.partition.size_of_messages_required_to_save": IggyKey(Fate.REFUSED, _PER_TOPIC),
    "system.segment.size": IggyKey(Fate.REFUSED, _PER_TOPIC),
    "system.segment.preallocate": IggyKey(Fate.REFUSED, _PER_TOPIC),
    "system.message_deduplication": IggyKey(Fate.REFUSED, _GONE),
    "extra": IggyKey(Fate.REFUSED, _GONE),
    "system.recovery.recreate_missing_state": IggyKey(
        Fate.REFUSED_IF_TRUE,
        "Missing data is repaired or reported, never invented: set it to false.",
        value=False,
    ),
    "tcp.tls.enabled": IggyKey(
        Fate.REFUSED_IF_TRUE,
        "TLS is not built yet, and clients must not be served in the clear: set it to false.",
        value=False,
    ),
    "system.encryption.enabled": IggyKey(
        Fate.REFUSED_IF_TRUE,
        "Encryption at rest is not built yet, and data must not be kept in the clear: set it to false.",
        value=False,
    ),
}

IGGY_KEYS: Mapping[str, IggyKey] = MappingProxyType(
    {
        f"{section}.{name}": IggyKey(Fate.INERT, value=value)
        for section, values in _INERT_SECTIONS.items()
        for name, value in values.items()
    }
    | {
        f"{section}.{name}": IggyKey(Fate.INERT)
        for section, names in _INERT_SINCE_RELEASE.items()
        for name in names
    }
    | _REFUSED
)
"""Every key of Iggy without a key of ours; one that is a table or a list stands for all that is below it."""

IGGY_VARIABLES: Mapping[str, IggyKey] = MappingProxyType(
    {
        "IGGY_ENV_PATH": IggyKey(
            Fate.REFUSED,
            "No .env file is read: set the variables themselves, or use EnvironmentFile= in the unit.",
        ),
        "IGGY_DISPLAY_CONFIG": IggyKey(Fate.INERT, "`server-ng config show` prints it."),
        "IGGY_SHARD_EVENT_INTERVAL": IggyKey(Fate.INERT),
        "IGGY_SHARD_RUNTIME_CAPACITY": IggyKey(Fate.INERT),
        "RUST_LOG": IggyKey(Fate.INERT, "Use system.logging.level."),
    }
)
"""Variables of Iggy outside its configuration that are not honoured here."""

FOREIGN_VARIABLES = ("IGGY_CI_", "IGGY_TEST_", "IGGY_CONNECTORS_", "IGGY_MCP_")
"""Beginnings of variables that belong to other programs of Iggy and are passed over in silence."""


def fate_of_key(key: str) -> IggyKey | None:
    """The fate of a dotted key, by its own name or by that of a table above it."""
    while key:
        if key in IGGY_KEYS:
            return IGGY_KEYS[key]
        key = key.rpartition(".")[0]
    return None


def fate_of_variable(name: str) -> tuple[str, IggyKey] | None:
    """The key of a variable of Iggy and its fate; for a variable without a key, its own name."""
    if name in IGGY_VARIABLES:
        return name, IGGY_VARIABLES[name]
    for key, entry in IGGY_KEYS.items():
        variable = f"IGGY_{key.replace('.', '_').upper()}"
        if name == variable or (key in _OPEN_ENDED and name.startswith(f"{variable}_")):
            return key, entry
    return None


_OPEN_ENDED = frozenset(
    {"cluster.nodes", "http.jwt.trusted_issuers", "system.message_deduplication", "extra"}
)
