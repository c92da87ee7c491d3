"""Recordings of robots that do not exist: simulated here, with the traps that real recordings have.

A stand-in is a folder: a description that is wrong about masses, a column mapping, and files as somebody's logger would
have written them. Beside it stands what only a simulation knows: the true robot, the torque without noise, the noise. What the
tests of real recordings check (`tests/reference`) is checked on these where the recordings are not.
"""
