"""The search for changes that would let a pod be scheduled: one module per kind of change.

A module guesses from the verdicts and numbers of the pod's attempt which changes are worth a try, smallest first, and
hands them to the case, which tries them with the real cycle. Only what was tried and found to work is suggested.
"""
