"""Time, timers and dice: the protocols every layer is handed, and the virtual implementations of them.

The lowest layer: it imports nothing of schedlab. It holds the clock, timer and random protocols, the event heap
ordered by (time, priority, sequence), the seeded random and uid sources, and the root errors. No wall clock, no
operating-system entropy and no thread may be touched here; those live in `cluster`.
"""
