"""Scenarios: what happens to a cluster over virtual time, run, measured, compared.

scenario = read_scenario(Path("scenario.yaml"))     file: strict, every mistake with its line
run = Experiment(scenario).run()                    experiment: the same file, seed and version give the same digest
run.metrics["wait_p99"], run.failed                 results
"""
