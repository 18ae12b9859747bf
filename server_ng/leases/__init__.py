"""Leases: moments of topics, kept as hard links for offline jobs, and the socket on which jobs ask."""

from server_ng.leases.errors import LeaseRefusedError
from server_ng.leases.service import Leases, Limits, Place

__all__ = ["LeaseRefusedError", "Leases", "Limits", "Place"]
