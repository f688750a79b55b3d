"""The panels of the screen: each draws one part of the snapshot."""
