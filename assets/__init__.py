"""Bundled files."""
