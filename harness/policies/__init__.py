"""Policies: who acts."""
