"""What the scheduler believes: nodes, their pods, assumed pods, and the arrays that plugins read.

Changes only between scheduling cycles and never during one. It evaluates no rule and calls no plugin.
"""
