"""Published cluster traces as nodes and timed pods, and as scenarios that can be run.

trace = read_alibaba(nodes, pods)          formats: one module each; plain manifests, and when each pod comes and ends
write_scenario(trace, folder)              writing: a folder with a scenario, its nodes and its pods
"""
