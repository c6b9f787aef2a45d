"""The shop as a web site on loopback, over the same state machine as the environment."""
