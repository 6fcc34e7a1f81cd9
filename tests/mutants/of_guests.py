"""Guards of what belongs to the project that the engine is installed in."""

from tests.mutants.mutant import POSTGRESQL, Mutant

_OF_GUESTS = ("tests/integration/test_good_guest.py",)

MUTANTS = (
    Mutant(
        "connections are closed around the project's tasks",
        "workers/celery/django_fixup.py",
        "        if not sender.name.startswith(TASKS):\n"
        "            super().on_task_prerun(sender, **kwargs)",
        "        if False:\n            super().on_task_prerun(sender, **kwargs)",
        "After one restart of the database every task of the project's fails for good.",
        _OF_GUESTS,
    ),
    Mutant(
        "a shutdown waits for the project's tasks",
        "workers/agent/graceful_shutdown.py",
        "        while others_under_way():\n",
        "        while False:\n",
        "SIGTERM loses a task of the project's own that takes longer than the engine's calls.",
        _OF_GUESTS,
    ),
    Mutant(
        "a hook acts for apps with the engine alone",
        "workers/celery/installing.py",
        '        if is_installed(getattr(source, "app", source)):\n',
        "        if True:\n",
        "Celery's pytest fixtures, and a second Celery app, are refused as uninstalled.",
        _OF_GUESTS,
    ),
    Mutant(
        "a worker of a test is not refused",
        "workers/celery/installing.py",
        "    (celeryd_init, hooks.refuse_worker),\n",
        "    (import_modules, hooks.refuse_worker),\n",
        "Celery's pytest fixtures fail with the project's own app where a test has no database.",
        _OF_GUESTS,
    ),
    Mutant(
        "a worker of an app without the engine is left alone where another has it",
        "workers/apps.py",
        "    if is_forgotten() and ",
        "    if ",
        "A second Celery app of the project's starts no worker.",
        ("tests/integration/test_installing.py",),
    ),
    Mutant(
        "a connection that a call opens is closed after it",
        "workers/agent/runner.py",
        " else nullcontext(), closed_after():",
        " else nullcontext():",
        "After a restart of the database every agent that reads models fails for good.",
        ("tests/integration/test_connections_of_calls.py",),
    ),
    Mutant(
        "a connection in the middle of something is not used on",
        "workers/runtime/db_connections.py",
        "        if not (_is_at_rest() or connection.in_atomic_block):\n",
        "        if False:\n",
        "With CONN_MAX_AGE=None a soft time limit in a query fails every task after it.",
        ("tests/integration/test_kept_connection.py",),
        on=POSTGRESQL,
    ),
    Mutant(
        "an input is no larger than a request",
        "workers/rules/new_processes.py",
        '        check_limits(document, text, "input")\n',
        "        pass\n",
        "A process is accepted whose first step fails for good.",
        ("tests/unit/test_new_processes.py",),
    ),
    Mutant(
        "an agent is a plain function of one call",
        "workers/definitions/registry.py",
        """        checked_values.function(f"Agent {agent.name}", method, getattr(agent, method), "call")\n""",  # noqa: E501
        "        pass\n",
        "An async agent fails each of its calls at run time, as transient.",
        ("tests/unit/test_registering.py",),
    ),
)
