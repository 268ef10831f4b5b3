"""How well any scheduler could do: bounds on nodes needed and pods placed, proven by a solver (CP-SAT of OR-tools).

reading     a cluster as a problem: equal pods as groups, what the filters demand of where they are
problem     the problem itself, and its nodes by classes of equal ones
model       the same for the solver: classes of nodes together (small, a bound), or every node by itself (exact)
packing     a placement on few nodes, found without the solver
search      all of them asked one after the other
bound       the question and its answer, beside what the scheduler has achieved

Every demand that is modelled holds of each state that the scheduler can come to by placing these pods, one after the other.
A demand that is left out only lets more be possible: the bound stays one.
"""
