"""A process as a picture: its attempts along the time, and its steps as a graph.

``attempts`` reads attempts and marks from journal rows, ``plot`` places instants and figures,
``chart`` lays out the rows of the chart, ``graph`` lays out the steps.  All of these are pure;
``read`` asks the database, and the templates ``process/chart.html`` and ``process/graph.html``
draw.
"""
