"""Ways out of the package, one module per bridge: what was identified, in the objects and files of other tools.

A bridge imports its tool when it is called (`packages.needed`), and may import every room but `reporting`, `papers`,
`robustness` and `cli`. Methods of objects in rooms above (`fit.to_pinocchio`) reach it by `public_names.handed_on`.
"""
