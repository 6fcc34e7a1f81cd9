"""A process as a picture: its attempts along the time, and its steps as a graph.

``attempts`` reads bars and marks out of journal rows, ``axis`` places instants, ``chart`` lays the
rows of the chart out, ``graph`` lays out the steps.  All of these are pure; ``read`` asks the
database, and the templates ``process/chart.html`` and ``process/graph.html`` draw.
"""
