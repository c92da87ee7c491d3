"""The sections of reports: where each is, and the order on its page.

    sections/fit/   the page of a fit,  in the order of FIT_SECTIONS of its `__init__.py`
    sections/run/   the page of runs,   in the order of RUN_SECTIONS of its `__init__.py`
    sections/excitation/   the page of an exciting motion, in the order of EXCITATION_SECTIONS of its `__init__.py`
    sections/fleet/   the page of a fleet, in the order of FLEET_SECTIONS of its `__init__.py`
    sections/payload/   the page of a payload, in the order of PAYLOAD_SECTIONS of its `__init__.py`
    sections/*.py   sections that several kinds of page share

A section is a class in its own file, with a template of the same name beside it, `torque.py` and `torque.html`, or in its
attribute `template`. To add one, write it into the folder of its page and add a line to that page's list.
"""
