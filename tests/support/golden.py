"""The frames of the wire reference, byte for byte."""

from pathlib import Path

__all__ = ["golden_bytes"]

_FOLDER = Path(__file__).resolve().parent.parent / "golden" / "wire"


def golden_bytes(name: str) -> bytes:
    """The bytes of a vector; a line that begins with `#` says what they are."""
    lines = (_FOLDER / f"{name}.hex").read_text().splitlines()
    return bytes.fromhex(" ".join(line for line in lines if not line.startswith("#")))
