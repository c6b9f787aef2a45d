"""The controlled study: a small model that learned from known data, post-trained in several ways.

Names load when they are first used; all but the settings need the extra `hf`.
"""
