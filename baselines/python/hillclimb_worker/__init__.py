"""A worker of hillclimb in Python: the protocol, the inputs, the shared timer, and one adaptor per framework."""

PROTOCOL = 1
VERSION = "0.1.0"
