"""Recorded baselines and the conditions they were recorded under."""
