"""The fate of every key of Iggy's own configuration that is not a key of ours."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

__all__ = [
    "FOREIGN_VARIABLES",
    "IGGY_KEYS",
    "IGGY_VARIABLES",
    "Fate",
    "IggyKey",
    "fate_of_key",
    "fate_of_variable",
]


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
    """The fate of one key, and what to do about it."""

    fate: Fate
    advice: str = ""


_INERT_SECTIONS = {
    "consumer_group": "rebalancing_timeout",
    "http": "max_request_size web_ui",
    "http.cors": "enabled allowed_methods allowed_origins allowed_headers exposed_headers allow_credentials "
    "allow_private_network",
    "http.jwt": "algorithm issuer audience valid_issuers valid_audiences access_token_expiry clock_skew "
    "not_before encoding_secret decoding_secret use_base64_secret trusted_issuers",
    "http.metrics": "enabled endpoint",
    "http.tls": "enabled cert_file key_file",
    "tcp.tls": "self_signed cert_file key_file",
    "quic": "max_concurrent_bidi_streams initial_mtu send_window receive_window stream_receive_window "
    "keep_alive_interval max_idle_timeout",
    "quic.certificate": "self_signed cert_file key_file",
    "websocket": "accept_unmasked_frames read_buffer_size write_buffer_size max_write_buffer_size "
    "max_message_size max_frame_size",
    "websocket.tls": "enabled self_signed cert_file key_file",
    "personal_access_token": "max_tokens_per_user",
    "personal_access_token.cleaner": "enabled interval",
    "heartbeat": "enabled interval",
    "telemetry": "enabled service_name",
    "telemetry.logs": "transport endpoint",
    "telemetry.traces": "transport endpoint",
    "system.stream": "path",
    "system.topic": "path",
    "system.partition": "path validate_checksum",
    "system.logging": "path file_enabled max_file_size max_total_size rotation_check_interval retention",
    "system.encryption": "key",
    "system.segment": "archive_expired",
    "system.memory_pool": "enabled size bucket_capacity",
    "system.sharding": "reply_inbox_capacity shutdown_poll_interval reconcile_periodic_interval",
    "metadata": "prepare_queue_depth journal_slots",
    "partition": "prepare_queue_depth evicted_ring_capacity evicted_ring_bytes_max "
    "transfer_served_cache_bytes_max transfer_artifact_bytes_max",
    "message_bus": "max_batch peer_queue_capacity reconnect_period close_peer_timeout close_grace "
    "handshake_grace",
    "cluster": "heartbeat_timeout commit_broadcast_interval prepare_retransmit_interval "
    "view_change_retransmit_interval view_change_status_timeout request_start_view_retransmit_interval "
    "view_probe_attempts_max repair_retry_interval repair_chunk_max superblock_wedged_fatal_timeout nodes",
    "cluster.auth": "enabled shared_secret previous_shared_secret",
    "cluster.tls": "enabled self_signed cert_file key_file ca_file",
    "cluster.coordinator": "skip_shard_zero_for_replicas skip_shard_zero_for_clients",
}

_PER_TOPIC = "It is an option of each topic: give it when the topic is created."
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
        Fate.REFUSED_IF_TRUE, "Missing data is repaired or reported, never invented: set it to false."
    ),
    "tcp.tls.enabled": IggyKey(
        Fate.REFUSED_IF_TRUE,
        "TLS is not built yet, and clients must not be served in the clear: set it to false.",
    ),
    "system.encryption.enabled": IggyKey(
        Fate.REFUSED_IF_TRUE,
        "Encryption at rest is not built yet, and data must not be kept in the clear: set it to false.",
    ),
}

IGGY_KEYS: Mapping[str, IggyKey] = MappingProxyType(
    {
        f"{section}.{name}": IggyKey(Fate.INERT)
        for section, names in _INERT_SECTIONS.items()
        for name in names.split()
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
        "IGGY_SHARD_RUNTIME_CAPACITY": IggyKey(Fate.INERT),
        "RUST_LOG": IggyKey(Fate.INERT, "Use system.logging.level."),
    }
)
"""Variables that Iggy reads beside its configuration and that are not honoured here."""

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
    """The key a variable of Iggy stands for and its fate; for a variable without a key, its own name."""
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
