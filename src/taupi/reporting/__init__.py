"""Pictures and reports of robots and of results: the verbs `plot` and `report`.

    report.py     `taupi.report(result, path)`: one HTML page; page.* is its frame, style and script
    sections/     the sections of a page, one file per kind of report: sections/fit.py, sections/run.py
    figures/      `taupi.plot(thing)`: Matplotlib figures, one file per kind of thing
    *_content.py  the content of a page, computed once and laid out by its sections
    chart.py      lines over time as SVG; dots.py friction over velocity, film.py the moving arm, ellipsoids.py its bodies
    viewer/       `taupi.view(robot)`: a page in three dimensions, served from this machine

The verbs are `taupi.report` and `taupi.plot`; the room is named after the activity, as `identification` is for `identify`.
"""
