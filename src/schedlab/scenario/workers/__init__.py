"""Runs side by side: `crew` hands them out and takes them back, `local` makes workers of processes of this machine.

with Crew(LocalEngine(work), workers) as crew:
    for task, state, result in crew.run(tasks): …
"""
