"""The capture directory: logs as they arrived, with the conditions of every server life."""
