"""One scenario in many ways: sweeps over configurations, parameters and seeds, and the search of good configurations.

plan = read_sweep(Path("sweep.yaml"))                  file: strict, every mistake with its line, before anything runs
for task, row in execute(LocalEngine(work), tasks):    crew: runs on processes or on Ray, failures isolated
Journal(folder)                                        journal: one line per run; a finished run is never repeated
tune(target, objectives, budget, …)                    tuning: weights, scoring strategy, percentageOfNodesToScore
"""
