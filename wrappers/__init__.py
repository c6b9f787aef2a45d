"""Wrappers between model text and environments."""
