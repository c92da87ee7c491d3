"""Dynamics: each algorithm in a file of its own, written over CasADi's SX, and the programs that are traced from them.

Numbers such as D1 in docstrings refer to docs/concepts/equations.md, for equations that have no number in their document.
"""
