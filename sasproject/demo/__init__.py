"""The five-minute demo: orders come in, things break, orders heal, and the end is counted.

- ``environment.py`` (where and how it runs), ``folder.py`` (its run folder), ``options.py``
- ``script.py`` (who buys what when, which kills when), ``generator.py`` (the submitter),
  ``faults.py`` (what the services do wrong), ``chaos.py`` (what is killed)
- ``run.py`` (one run), ``headless.py`` and ``interactive.py`` (its two courses)
- ``cohort.py`` (the run's orders in the store), ``figures.py``, ``scene.py``, ``wording.py``
  (what is shown of them), ``board.py``, ``progress.py``, ``keys.py``, ``voice.py`` (the terminal),
  ``addresses.py``, ``ending.py`` (the signals)
- ``tally.py`` (what came of it), ``summary.py`` (how that is said)
"""
