"""Configuration: the model of the settings, the layers that fill it, and its texts."""

from server_ng.config.address import Address
from server_ng.config.consumer_idle import ConsumerIdle
from server_ng.config.difference import Change, differences
from server_ng.config.errors import ConfigErrors, Fault
from server_ng.config.layers import DEFAULT_ORIGIN, Inputs, Loaded, load, reload
from server_ng.config.model import Settings
from server_ng.config.root_credential import RootCredential
from server_ng.config.rules import Notice
from server_ng.config.secret import Secret

__all__ = [
    "DEFAULT_ORIGIN",
    "Address",
    "Change",
    "ConfigErrors",
    "ConsumerIdle",
    "Fault",
    "Inputs",
    "Loaded",
    "Notice",
    "RootCredential",
    "Secret",
    "Settings",
    "differences",
    "load",
    "reload",
]
