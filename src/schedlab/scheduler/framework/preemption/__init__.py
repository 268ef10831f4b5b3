"""Preemption: who may preempt, dry runs, budgets, the choice of victims, and their eviction.

Mirrors: pkg/scheduler/framework/preemption (v1.36).
"""
