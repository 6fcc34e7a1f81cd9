"""Guards of jobs: one verb on a frozen set of processes."""

from tests.mutants.mutant import POSTGRESQL, Mutant

_JOBS = "workers/desk/store/jobs.py"
_VERBS = "workers/desk/rules/job_verbs.py"
_RUNNER = "workers/desk/operate/jobs.py"
_MEETING = "tests/concurrency/test_desk.py"
_TESTS = ("tests/integration/test_jobs.py",)
_SAMPLES = ("tests/integration/test_job_samples.py",)

MUTANTS = (
    Mutant(
        "a job acts on what was looked at",
        _JOBS,
        "if locked.process.sequence != item.sequence:",
        "if False:",
        "A job resubmits an order that somebody has dealt with since.",
        _TESTS,
    ),
    Mutant(
        "a job that is paused or stopped acts on nothing",
        _JOBS,
        "locked.filter(pk=job_id, state=JobState.RUNNING).first()",
        "locked.filter(pk=job_id).first()",
        "Whoever sees a mistake in the middle cannot end it.",
        _TESTS,
    ),
    Mutant(
        "a set that is not whole is not acted on",
        _JOBS,
        "            verb=verb,\n",
        "            verb=verb,\n            state=JobState.RUNNING,\n",
        "A job whose set was cut off does half of what was wanted.",
        _TESTS,
    ),
    Mutant(
        "a job that was stopped before it began does not begin",
        _JOBS,
        "BulkJob.objects.filter(pk=job.pk, state=JobState.PLANNED)",
        "BulkJob.objects.filter(pk=job.pk)",
        "A stop while the set is frozen is lost.",
        (f"{_MEETING}::test_a_job_that_is_stopped_while_its_set_is_frozen_does_not_begin",),
    ),
    Mutant(
        "an item is acted on once",
        _JOBS,
        "    BulkItem.objects.filter(pk__in=landed).update(state=ItemState.LANDED)\n",
        "",
        "A job acts on its first processes again and again.",
        _TESTS,
    ),
    Mutant(
        "a job's row is the lock of its items",
        _JOBS,
        "locked = BulkJob.objects.select_for_update(no_key=True)",
        "locked = BulkJob.objects",
        "Two workers of one job act on the same items.",
        (f"{_MEETING}::test_two_workers_of_a_job_act_on_a_process_once",),
        POSTGRESQL,
    ),
    Mutant(
        "a verb and its item's state are one transaction",
        _JOBS,
        '    with durable("jobs.work"):\n',
        "    if True:\n",
        "A worker that dies has acted, and acts again.",
        _TESTS,
    ),
    Mutant(
        "a job obeys its rate",
        _VERBS,
        "return most if bucket is None else min(most, max(0, int(bucket.tokens)))",
        "return most",
        "10,000 orders are resubmitted at once to a service that has just come back.",
        ("tests/unit/test_job_verbs.py",),
    ),
    Mutant(
        "a sample is no larger than asked for",
        _VERBS,
        "return min(most, sample - landed) if landed < sample else most",
        "return most",
        "A mistake strikes a whole chunk instead of five.",
        _SAMPLES,
    ),
    Mutant(
        "after its sample a job waits",
        _VERBS,
        "return before < sample <= after",
        "return False",
        "A mistake is seen in the sample when all is done.",
        _SAMPLES,
    ),
    Mutant(
        "a job is steered as its state allows",
        _JOBS,
        "filter(pk=job_id, state__in=before).update(**changes)",
        "filter(pk=job_id).update(**changes)",
        "A job that was stopped goes on.",
        _TESTS,
    ),
    Mutant(
        "one process holds up no other of its job",
        _RUNNER,
        "        if most == 1:\n            return jobs.refuse_next",
        "        if most < 1:\n            return jobs.refuse_next",
        "A process on which a verb fails stops its job for good.",
        _TESTS,
    ),
    Mutant(
        "one worker at a time works jobs",
        _RUNNER,
        "        if not lease:\n            return\n",
        "",
        "All workers work jobs, and nobody claims.",
        _TESTS,
    ),
    Mutant(
        "a job whose verb is unknown is left to others",
        _JOBS,
        "filter(state=JobState.RUNNING, verb__in=list(VERBS))",
        "filter(state=JobState.RUNNING)",
        "Old code refuses all items of a job that new code has made.",
        _TESTS,
    ),
    Mutant(
        "nobody knows whether it happened unless somebody says so",
        _VERBS,
        'bool(params.get("nothing_happened"))',
        "True",
        "A job charges again what may have been charged.",
        _TESTS,
    ),
    Mutant(
        "jobs that nobody works are worked",
        _JOBS,
        "return since is None or not 0 <= since < seconds",
        "return False",
        "A job whose worker was killed stands still.",
        _TESTS,
    ),
)
