"""What others put around the lines of a log on their way: containers, clusters, journals, job launchers.

A carrier takes its own part off the front of a line (or out of a JSON object) and keeps what it knew about
it: which stream the line belongs to, when it was passed on, which process wrote it. What is left is the line
as the engine wrote it, and only that reaches a dialect. `envelope` is what is passed from one carrier to the
next, `unwrap` tries them in turn, because carriers are often put into one another.
"""
