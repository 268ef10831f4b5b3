"""One scenario in many ways: sweeps over configurations, parameters and seeds, and the search of good configurations.

plan = read_sweep(Path("sweep.yaml"))                  file: strict, every mistake with its line, before anything runs
Crew(LocalEngine(work), workers).run(plan.tasks)       ../workers/crew: runs on processes, or (on_ray) on Ray, failures isolated
Journal(folder)                                        journal: one line per run; a finished run is never repeated
Tuner(search).run(journal, crew, folder)               tuning: weights, scoring strategy, percentageOfNodesToScore
"""
