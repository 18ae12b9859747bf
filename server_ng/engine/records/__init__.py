"""Records: what crosses between the engine and Python, as values.

Integers are little-endian, strings a u32 length and UTF-8. The kinds and their bodies are a table of
`native/wire`; `native/control/src/record.rs` is the other half.
"""

from server_ng.engine.records.received import (
    Adopted,
    Apply,
    CaughtUp,
    ControlRecord,
    Cut,
    Login,
    NativeEvent,
    Observed,
    Progress,
    Reconciled,
    Record,
    Rows,
    Started,
    StartFailed,
    Stopped,
    decode,
)
from server_ng.engine.records.sent import (
    Applied,
    HostFigures,
    LoginVerdict,
    encode_adopt,
    encode_applied,
    encode_converged,
    encode_cut,
    encode_host_figures,
    encode_login_verdict,
    encode_open_doors,
    encode_proposal,
    encode_reconcile,
)

__all__ = [
    "Adopted",
    "Applied",
    "Apply",
    "CaughtUp",
    "ControlRecord",
    "Cut",
    "HostFigures",
    "Login",
    "LoginVerdict",
    "NativeEvent",
    "Observed",
    "Progress",
    "Reconciled",
    "Record",
    "Rows",
    "StartFailed",
    "Started",
    "Stopped",
    "decode",
    "encode_adopt",
    "encode_applied",
    "encode_converged",
    "encode_cut",
    "encode_host_figures",
    "encode_login_verdict",
    "encode_open_doors",
    "encode_proposal",
    "encode_reconcile",
]
