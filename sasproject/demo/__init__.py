"""The five-minute demo: orders arrive, things break, orders recover, and the results are counted.

- ``environment.py`` (its environment), ``folder.py`` (its run folder), ``options.py``
- ``script.py`` (purchases and kills), ``generator.py`` (the submitter),
  ``faults.py`` (the services' faults), ``chaos.py`` (kills processes)
- ``run.py`` (one run), ``headless.py`` and ``interactive.py`` (its two modes)
- ``cohort.py`` (the run's orders in the store), ``figures.py``, ``scene.py``, ``wording.py``
  (what is shown of them), ``board.py``, ``progress.py``, ``keys.py``, ``voice.py`` (the terminal),
  ``addresses.py``, ``ending.py`` (the signals)
- ``tally.py`` (the results), ``summary.py`` (the results in words)
"""
