"""The engine's kinds of alerts.

Each declares its title, severity, remedy and message, and when its cause has ended: SQL about the
alert ``a`` with its process ``p`` and step ``s``, if it has any, and the bounds ``c``
(``store.alert_resolution``).  Without that SQL it closes when somebody acknowledges it.
"""

from django.utils.translation import gettext_lazy as _

from workers.definitions.alert_kinds import (
    BY_HAND,
    AlertKind,
    IncidentKind,
    Severity,
    register_alert_kind,
)

#: The process has ended.
_OVER = "p.finished_at IS NOT NULL"
#: Somebody, or the Scheduler, has dealt with the step.
_DEALT_WITH = f"{_OVER} OR p.outcome IS NOT NULL OR s.state <> 'error'"

for _kind in (
    AlertKind(
        "process_error",
        IncidentKind.FAILURE,
        Severity.ERROR,
        _("%(step)s of %(workflow)s fails for good: %(reason)s"),
        _("Fix the cause, then resubmit, or complete, skip or undo."),
        message=_("%(subject)s: step %(step)s failed for good: %(reason)s"),
        ended_sql=f"{_DEALT_WITH} OR p.state <> 'error'",
    ),
    AlertKind(
        "process_compensating",
        IncidentKind.FAILURE,
        Severity.NOTICE,
        _("%(workflow)s is undone because %(step)s fails: %(reason)s"),
        _("Tell the customer. Nothing is left to be done in the system."),
        goes_on=_("what was done is being undone"),
        message=_("%(subject)s is being undone: step %(step)s failed: %(reason)s"),
        # In error it is no longer being undone: its failed undo step has an alert of its own.
        ended_sql=f"{_OVER} OR p.state = 'error'",
    ),
    AlertKind(
        "undo_stuck",
        IncidentKind.FAILURE,
        Severity.URGENT,
        _("%(step)s of %(workflow)s cannot undo: %(reason)s"),
        _("Fix the cause, then resubmit; or undo by hand and complete the undo step."),
        message=_("%(subject)s: undo step %(step)s failed for good: %(reason)s"),
        ended_sql=f"{_OVER} OR s.state <> 'error'",
    ),
    AlertKind(
        "decision_needed",
        IncidentKind.FAILURE,
        Severity.ERROR,
        _("%(step)s of %(workflow)s failed and somebody must decide: %(reason)s"),
        _("Decide: resubmit, complete, skip or undo."),
        message=_("%(subject)s: step %(step)s failed, and somebody must decide: %(reason)s"),
        ended_sql=_DEALT_WITH,
    ),
    AlertKind(
        "undo_requested",
        IncidentKind.OTHER,
        Severity.ERROR,
        _("Somebody else's approval is needed for processes of %(workflow)s"),
        _("Approve or decline each request, on its page under Requests for approval."),
        goes_on=_("a request that nobody decides on is over after 24 hours"),
        message=_("%(actor)s asks for approval of an act on %(subject)s. Somebody else decides."),
        ended_sql="NOT EXISTS (SELECT 1 FROM workers_undorequest r"
        " WHERE r.process_id = a.process_id AND r.state = 'waiting' AND r.sequence = p.sequence"
        " AND r.asked_at > c.good)",
    ),
    AlertKind(
        "answer_overdue",
        IncidentKind.FAILURE,
        Severity.ERROR,
        _("Answers to %(step)s of %(workflow)s are overdue"),
        _("Answer, or ask whoever should."),
        goes_on=_("the steps go on waiting for their answers"),
        message=_("%(subject)s: step %(step)s still waits for %(question)s"),
        ended_sql=f"{_OVER} OR s.deferral IS NULL OR s.escalate_at IS NOT NULL",
    ),
    AlertKind(
        "deadline_passed",
        IncidentKind.FAILURE,
        Severity.ERROR,
        _("%(workflow)s has not ended by its deadline"),
        _("Tell the customer; where it goes on, see why it takes so long."),
        goes_on=_("each process goes on, or is being undone, as its workflow says"),
        message={
            "undone": _("%(subject)s was to end by %(deadline_at)s and is being undone."),
            "goes_on": _("%(subject)s was to end by %(deadline_at)s and goes on."),
        },
        ended_sql=_OVER,
    ),
    AlertKind(
        "late_success",
        IncidentKind.FAILURE,
        Severity.URGENT,
        {
            "gone": _("Successes came for orders that this database does not have"),
            "": _("Successes of %(step)s of %(workflow)s came after it had ended"),
        },
        _(
            "Check with the service whether it has reversed what it did late. Undo it by hand"
            " where nothing undoes it."
        ),
        goes_on=_("the undo is asked once more under its key, where there is one"),
        message={
            "undone_again": _(
                "%(subject)s: a success of %(step)s came after it was undone. It is undone once"
                " more."
            ),
            "lasting": _("%(subject)s: a success of %(step)s came late, and nothing undoes it."),
            "gone": _(
                "A success came for the call with key %(key)s, whose process was pruned, or was"
                " lost when the database was restored."
            ),
            "former": _(
                "%(subject)s: a success of an earlier call of %(step)s came, which has begun again"
                " or gone to another agent since: it may have happened twice."
            ),
            "beside": _(
                "%(subject)s: a success of %(step)s came after a person had done it or undone it"
                " by hand, or after it was skipped: its service has done it as well."
            ),
        },
    ),
    AlertKind(
        "ended_in_doubt",
        IncidentKind.FAILURE,
        Severity.ERROR,
        _("%(workflow)s ended with steps that nobody knows to have happened or been undone"),
        _("Compare with what the services say; do by hand what is missing, or cancel anew."),
        message=_(
            "%(subject)s has ended, and nobody knows of %(steps)s: a call did not tell its outcome "
            "before it was skipped, done by hand or given up, or the database was restored since."
        ),
    ),
    AlertKind(
        "step_skipped",
        IncidentKind.FAILURE,
        Severity.NOTICE,
        _("Optional %(step)s of %(workflow)s was skipped: %(reason)s"),
        _("Nothing, or have the step done again once its service is back, or do it by hand."),
        goes_on=_("the processes go on without the step"),
        message=_("%(subject)s: optional step %(step)s was skipped: %(reason)s"),
        # It stays skipped: moot only once it is done after all, or undone with the rest.
        ended_sql=f"p.state IN ('compensated', 'cancelled') OR s.state <> 'skipped' OR {BY_HAND}",
    ),
    AlertKind(
        "worker_vanished",
        IncidentKind.INSTALLATION,
        Severity.ERROR,
        _("Worker %(worker)s has vanished"),
        _(
            "See whether its process is gone, frozen or cut off from the database, and start it"
            " again. This ends once it reports, or 15 minutes after it was last seen."
        ),
        goes_on=_("its calls expire and are made again by other workers"),
        message=_("Worker %(worker)s has not reported since %(seen_at)s."),
        ended_sql="NOT EXISTS (SELECT 1 FROM workers_worker w"
        " WHERE a.cause = 'worker_vanished:' || w.run AND w.seen_at <= c.seen)",
    ),
    AlertKind(
        "queue_unserved",
        IncidentKind.INSTALLATION,
        Severity.URGENT,
        _("No worker serves the queue %(queue)s, and steps wait for it"),
        _("Start a worker with -Q and the queue's name. Nothing has failed: the steps wait."),
        message=_("Steps wait for the queue %(queue)s, and no live worker serves it."),
        ended_sql="a.last_raised_at < c.quiet",
    ),
    AlertKind(
        "duty_overdue",
        IncidentKind.DUTY,
        Severity.URGENT,
        {
            "watched": _("No worker performs the periodic duties: %(about)s"),
            "raises": _("Periodic duties raise an exception: %(about)s"),
            "": _("Periodic duties are late: %(about)s"),
        },
        {
            "never": _("Start the workers and Celery Beat."),
            "unasked": _(
                "Start Celery Beat, or enable the periodic task; and start workers if none runs."
            ),
            "unread": _(
                "Beat is running: start a worker that reads that queue, with -Q and its name."
            ),
            "busy": _(
                "Beat and the workers are running: give those that read that queue more processes"
                " (--concurrency), or start another one with -Q and its name."
            ),
            "raises": _(
                "Fix what the exception names, such as a right that the login lacks, or report it"
                " as a fault. Beat and the workers are up."
            ),
            "stuck": _("Look at the database."),
            "no_broker": _("Look at the broker."),
            "ahead": _(
                "Look at the time service of the database's machine, and restart Beat if doctor"
                " --only duties says that it waits, too."
            ),
        },
        # `sas watch` triggers nothing: perhaps no worker listens.
        goes_on={"triggered": _("a worker triggers it each time it is late")},
        message={
            "never": _("The %(duty)s has never run."),
            "ahead": _(
                "The %(duty)s is dated %(seconds)s s in the future: the database's clock was set"
                " back."
                " Look at its time service."
            ),
            "late": _("The %(duty)s was overdue at %(seen_at)s: last done %(seconds)s s before."),
            "raises": _("The %(duty)s raises: %(error)s."),
            "stuck": _("A worker is running it and has not finished: is the database slow?"),
            "no_broker": _("The broker does not answer."),
            "unread": _(
                "It was asked for, and no live worker reads %(queue)s, where %(waiting)s"
                " messages wait."
            ),
            "busy": _(
                "It was asked for, and the workers that read %(queue)s are busy: %(waiting)s"
                " messages"
                " wait there."
            ),
            "unasked": _(
                "Nothing has triggered it: is Celery Beat running, and its periodic task enabled?"
            ),
            "triggered": _("A worker has triggered it."),
            "watched": _("Noticed by `manage.py sas watch`."),
        },
        ended_sql="a.last_raised_at < c.quiet",
    ),
    AlertKind(
        "breaker_open",
        IncidentKind.AGENT,
        Severity.URGENT,
        _("The service of agent %(about)s cannot be reached"),
        _(
            "Restore the service, or put right what the reason names: our credentials or its"
            " address. Steps wait and none fails."
        ),
        goes_on=_("a probe asks the service again each time the breaker's time is over"),
        message=_(
            "The service of agent %(agent)s has not been reached since %(opened_at)s: %(reason)s."
            " Its steps wait; none fails."
        ),
        ended_sql="NOT EXISTS (SELECT 1 FROM workers_flow f WHERE f.opened_at IS NOT NULL"
        " AND a.cause = 'breaker_open:agent:' || f.agent)",
    ),
    AlertKind(
        "unknown_definition",
        IncidentKind.DEFINITION,
        Severity.URGENT,
        {
            "agent": _("Steps wait for code that no live worker has: agent %(name)s"),
            "workflow": _(
                "Steps wait for code that no live worker has: workflow %(name)s,"
                " version %(version)s"
            ),
            "step": _(
                "Steps wait for code that no live worker has: workflow %(name)s,"
                " version %(version)s, step %(missing)s"
            ),
            # One of the two is set: the name, or the workflow of the waiting process.
            "": _("Steps wait for code that no live worker has: %(about)s%(workflow)s"),
        },
        _(
            "Start workers with the code that has it, and restart those that run older code. While"
            " one live worker has it, no alert is raised."
        ),
        goes_on=_("the steps wait in their turn, without a failure"),
        message={
            "agent": _(
                "Steps wait for code that knows them: no live worker has the agent %(name)s. Start"
                " workers with the code that has it, and restart those that run older code; if no"
                " code has it, register it in an agents module."
            ),
            "workflow": _(
                "Steps wait for code that knows them: no live worker has workflow %(name)s version"
                " %(version)s. Start workers with the code that has it, and restart those that run"
                " older code; if no code has it, register it in a workflows module."
            ),
            "step": _(
                "Steps wait for code that knows them. Workflow %(name)s version %(version)s has"
                " no step"
                " %(missing)s in this code. Give the step its name again, and make the change a new"
                " version."
            ),
        },
        ended_sql=f"{_OVER} OR s.state <> 'waiting'"
        " OR a.process_id IS NULL AND a.last_raised_at < c.quiet",
    ),
    AlertKind(
        "on_end_failed",
        IncidentKind.DEFINITION,
        Severity.ERROR,
        _("on_end of %(workflow)s fails: %(message)s"),
        _("Fix on_end and bring the code to every worker. The end follows by itself."),
        goes_on=_("it is called again at each pass of the poll"),
        message=_(
            "%(subject)s cannot end as %(state)s: on_end of %(workflow)s version %(version)s raised"
            " %(reason)s"
        ),
        ended_sql=f"{_OVER} OR p.state = 'error'",
    ),
    AlertKind(
        "row_unusable",
        IncidentKind.OTHER,
        Severity.ERROR,
        _("A row cannot be read or written: %(error)s"),
        _(
            "Look at the row, and repair what the error names, such as a document that was changed"
            " by hand."
        ),
        goes_on=_("the row is tried again each time; the others go on without it"),
        message=_("Cannot %(duty)s %(row)s: %(error)s. All others go on."),
        ended_sql="a.last_raised_at < c.quiet",
    ),
    AlertKind(
        "sink_undeliverable",
        IncidentKind.SUBMITTER,
        Severity.NOTICE,
        _("%(about)s cannot be notified of what was submitted"),
        _("Have its owner fix it, then have it told again."),
        message={
            "owner": _(
                "%(owner)s cannot be notified of orders at the %(kind)s %(place)s: %(reason)s."
            ),
            "nobody": _(
                "Somebody cannot be notified of orders at the %(kind)s %(place)s: %(reason)s."
            ),
            "mend": _("Nothing waits for it. Once it is fixed: manage.py sas sinks retry."),
        },
    ),
    AlertKind(
        "commits_lost",
        IncidentKind.INSTALLATION,
        Severity.URGENT,
        _("The database may have lost commits: nothing is claimed"),
        _(
            "Run manage.py sas restored --since T --until now, with T a time from which on commits"
            " may be missing; workers may run. If none is missing, run manage.py sas restored"
            ' --nothing-lost. See "Restore a database" in the documentation.'
        ),
        message={
            "timeline": _(
                "A standby was promoted (timeline %(before)s to %(after)s). What it had not"
                " received"
                " is gone: orders, and what is known of calls that were made."
            ),
            "moved": _(
                "The database is on another server, or another database, than before: it was"
                " restored,"
                " or is a copy."
            ),
            "held": _("Nothing is claimed until somebody has looked."),
        },
        ended_sql="NOT EXISTS (SELECT 1 FROM workers_hold h WHERE h.kind = 'everything'"
        " AND h.ended_at IS NULL)",
    ),
    AlertKind(
        "foreign_messages",
        IncidentKind.INSTALLATION,
        Severity.ERROR,
        _("Another installation uses this broker: %(about)s"),
        _(
            "Give one of the two a virtual host of its own (with Redis a database number) in"
            " BROKER_URL, and restart its processes. manage.py sas doctor --only broker names the"
            " other's database."
        ),
        goes_on=_("messages reach their owners some seconds later"),
        message=_(
            "Messages of another installation, %(installation)s, come through %(queue)s. This"
            " one is"
            " %(own)s. None is worked on: each is put back for its owner."
        ),
        ended_sql="a.last_raised_at < c.quiet",
    ),
    AlertKind(
        "webhook_refused",
        IncidentKind.OTHER,
        Severity.ERROR,
        _("Genuine webhooks of %(about)s are refused"),
        _(
            "See at the provider what they report, and answer their steps by hand. Mend what"
            " refuses them, or raise max_bytes of the provider, and have them sent again."
        ),
        goes_on=_("the provider sends them again, mostly for some days"),
        message=_("A genuine webhook of %(provider)s was refused: %(reason)s"),
    ),
    AlertKind(
        "restored",
        IncidentKind.OTHER,
        Severity.URGENT,
        _("The database was restored to %(about)s"),
        _(
            "Have what was accepted after that time submitted again: see"
            ' "Restore a database" in the documentation.'
        ),
        message=_(
            "The database was restored to %(since_at)s: %(steps)s steps of %(processes)s"
            " processes are in doubt. What was accepted later must be submitted again."
        ),
    ),
):
    register_alert_kind(_kind)
