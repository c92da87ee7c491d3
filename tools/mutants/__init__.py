"""Small faults inserted into the source one at a time, to see whether the tests notice: `make mutants`, docs/mutants.md.

`places` finds where a file can be changed and how, `sample` draws from that by a seed, `recorder` and `reach` know which test
runs which line, `trial` runs tests on one changed copy, `results` remembers outcomes, `page` writes them down.
"""
