"""Who may log in: passwords and their hashes, the verified-credential cache, and the root user."""

from server_ng.auth.accounts import ROOT_USER_ID, Account, Accounts
from server_ng.auth.authenticator import Accepted, Authenticator, Busy, Refused, Verdict
from server_ng.auth.enricher import Enricher
from server_ng.auth.passwords import Hasher, HashesBusyError
from server_ng.auth.root import ROOT_PASSWORD_FILE, RootUser, prepare_root

__all__ = [
    "ROOT_PASSWORD_FILE",
    "ROOT_USER_ID",
    "Accepted",
    "Account",
    "Accounts",
    "Authenticator",
    "Busy",
    "Enricher",
    "Hasher",
    "HashesBusyError",
    "Refused",
    "RootUser",
    "Verdict",
    "prepare_root",
]
