"""The decision log: every attempt of every pod, losslessly, and its projections as annotations and explanations.

Observes the scheduler through the protocol it was injected by and never influences it. It words verdicts only when
asked.
"""
