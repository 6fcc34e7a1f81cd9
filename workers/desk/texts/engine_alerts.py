"""What the engine's alerts mean: title, severity, what to do, and what each alert says.

The engine raises them by code and says what ends each (``store.alert_resolution``).
"""

from django.utils.translation import gettext_lazy as _

from workers.definitions.alert_kinds import AlertKind, IncidentKind, Severity, register_alert_kind

for _kind in (
    AlertKind(
        "process_error",
        IncidentKind.FAILURE,
        Severity.ERROR,
        _("%(step)s of %(workflow)s fails for good: %(reason)s"),
        _("Fix the cause, then resubmit, or complete, skip or undo."),
        message=_("%(subject)s: step %(step)s failed for good: %(reason)s"),
    ),
    AlertKind(
        "process_compensating",
        IncidentKind.FAILURE,
        Severity.NOTICE,
        _("%(workflow)s is being undone because %(step)s failed: %(reason)s"),
        _("Tell the customer. The system does the rest."),
        goes_on=_("the completed steps are being undone"),
        message=_("%(subject)s is being undone: step %(step)s failed: %(reason)s"),
    ),
    AlertKind(
        "undo_stuck",
        IncidentKind.FAILURE,
        Severity.URGENT,
        _("%(step)s of %(workflow)s cannot undo: %(reason)s"),
        _("Fix the cause, then resubmit; or undo by hand and complete the undo step."),
        message=_("%(subject)s: undo step %(step)s failed for good: %(reason)s"),
    ),
    AlertKind(
        "decision_needed",
        IncidentKind.FAILURE,
        Severity.ERROR,
        _("%(step)s of %(workflow)s failed and needs a decision: %(reason)s"),
        _("Decide: resubmit, complete, skip or undo."),
        message=_("%(subject)s: step %(step)s failed and needs a decision: %(reason)s"),
    ),
    AlertKind(
        "undo_requested",
        IncidentKind.OTHER,
        Severity.ERROR,
        _("Processes of %(workflow)s need a second person's approval"),
        _("Approve or decline each request, on its page under Requests for approval."),
        goes_on=_("requests expire undecided after 24 hours"),
        message=_("%(actor)s requests approval of an act on %(subject)s. Another person decides."),
    ),
    AlertKind(
        "answer_overdue",
        IncidentKind.FAILURE,
        Severity.ERROR,
        _("Answers to %(step)s of %(workflow)s are overdue"),
        _("Answer, or remind the person who should."),
        goes_on=_("the steps keep waiting for their answers"),
        message=_("%(subject)s: step %(step)s still waits for %(question)s"),
    ),
    AlertKind(
        "deadline_passed",
        IncidentKind.FAILURE,
        Severity.ERROR,
        _("%(workflow)s has missed its deadline"),
        _("Tell the customer. If the process is still running, check what it waits for."),
        goes_on=_("each process continues, or is being undone, as its workflow says"),
        message={
            "undone": _("%(subject)s missed its deadline, %(deadline_at)s, and is being undone."),
            "goes_on": _("%(subject)s missed its deadline, %(deadline_at)s, and continues."),
        },
    ),
    AlertKind(
        "late_success",
        IncidentKind.FAILURE,
        Severity.URGENT,
        {
            "gone": _("Calls of processes that this database lacks succeeded late"),
            "": _("%(step)s of %(workflow)s succeeded after it had ended"),
        },
        _(
            "Ask the service whether the late call was reversed. If the step has no undo, reverse"
            " it by hand."
        ),
        goes_on=_("the undo is called once more under its key, if the step has one"),
        message={
            "undone_again": _(
                "%(subject)s: %(step)s succeeded after it was undone. It is being undone once more."
            ),
            "lasting": _("%(subject)s: %(step)s succeeded late, and nothing undoes it."),
            "gone": _(
                "The call with key %(key)s succeeded, but its process was pruned, or was lost when"
                " the database was restored."
            ),
            "former": _(
                "%(subject)s: an earlier call of %(step)s succeeded. The step has begun again or"
                " gone to another agent since: it may have happened twice."
            ),
            "beside": _(
                "%(subject)s: %(step)s succeeded after a person had done it or undone it by hand,"
                " or after it was skipped: its service has done it as well."
            ),
        },
    ),
    AlertKind(
        "ended_in_doubt",
        IncidentKind.FAILURE,
        Severity.ERROR,
        _("%(workflow)s ended with steps of unknown outcome"),
        _("Check each service. Do what is missing by hand, or cancel again."),
        message=_(
            "%(subject)s ended with an unknown outcome of %(steps)s: a call had not reported its"
            " outcome when it was skipped, done by hand or given up, or the database was restored"
            " since."
        ),
    ),
    AlertKind(
        "step_skipped",
        IncidentKind.FAILURE,
        Severity.NOTICE,
        _("Optional %(step)s of %(workflow)s was skipped: %(reason)s"),
        _(
            "No action needed. To have the step done anyway, redo it once its service is back, or"
            " do it by hand."
        ),
        goes_on=_("the processes continue without the step"),
        message=_("%(subject)s: optional step %(step)s was skipped: %(reason)s"),
    ),
    AlertKind(
        "worker_vanished",
        IncidentKind.INSTALLATION,
        Severity.ERROR,
        _("Worker %(worker)s has vanished"),
        _(
            "Check whether its process is dead, frozen or cut off from the database, and restart"
            " it. The alert closes once it reports, or 15 minutes after it was last seen."
        ),
        goes_on=_("its calls expire, and other workers make them again"),
        message=_("Worker %(worker)s has not reported since %(seen_at)s."),
    ),
    AlertKind(
        "queue_unserved",
        IncidentKind.INSTALLATION,
        Severity.URGENT,
        _("No worker serves the queue %(queue)s, where steps wait"),
        _("Start a worker with -Q and the queue's name. Nothing has failed: the steps wait."),
        message=_("Steps wait for the queue %(queue)s, and no live worker serves it."),
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
                "Beat and the workers are running: give those of that queue more processes"
                " (--concurrency), or start another one with -Q and its name."
            ),
            "raises": _(
                "Fix what the exception names, such as a missing database privilege, or report it"
                " as a bug. Beat and the workers are running."
            ),
            "stuck": _("Check the database."),
            "no_broker": _("Check the broker."),
            "ahead": _(
                "Check the time service of the database's machine, and restart Beat if doctor"
                " --only duties says that it waits, too."
            ),
        },
        # `sas watch` triggers nothing: perhaps no worker listens.
        goes_on={"triggered": _("a worker triggers it each time it is late")},
        message={
            "never": _("The %(duty)s has never run."),
            "ahead": _(
                "The %(duty)s is dated %(seconds)s s in the future: the database's clock was set"
                " back. Check its time service."
            ),
            "late": _("The %(duty)s was overdue at %(seen_at)s: last done %(seconds)s s before."),
            "raises": _("The %(duty)s raises: %(error)s."),
            "stuck": _("A worker is running it and has not finished: is the database slow?"),
            "no_broker": _("The broker does not answer."),
            "unread": _(
                "It was triggered, but no live worker reads %(queue)s, where %(waiting)s messages"
                " wait."
            ),
            "busy": _(
                "It was triggered, but the workers that read %(queue)s are busy: %(waiting)s"
                " messages wait there."
            ),
            "unasked": _(
                "Nothing has triggered it: is Celery Beat running, and its periodic task enabled?"
            ),
            "triggered": _("A worker has triggered it."),
            "watched": _("Noticed by `manage.py sas watch`."),
        },
    ),
    AlertKind(
        "breaker_open",
        IncidentKind.AGENT,
        Severity.URGENT,
        _("The service of agent %(about)s cannot be reached"),
        _(
            "Restore the service, or fix what the reason names: our credentials or its address."
            " Steps wait and none fails."
        ),
        goes_on=_("a probe calls the service after each pause of the breaker"),
        message=_(
            "The service of agent %(agent)s has not been reached since %(opened_at)s: %(reason)s."
            " Its steps wait; none fails."
        ),
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
        goes_on=_("the steps wait and none fails"),
        message={
            "agent": _(
                "No live worker has the agent %(name)s, and steps wait for it. If no code has it,"
                " register it in an agents module."
            ),
            "workflow": _(
                "No live worker has workflow %(name)s version %(version)s, and steps wait for it."
                " If no code has it, register it in a workflows module."
            ),
            "step": _(
                "Workflow %(name)s version %(version)s has no step %(missing)s in this code, and"
                " steps wait for it. Give the step its name again, and make the change a new"
                " version."
            ),
        },
    ),
    AlertKind(
        "on_end_failed",
        IncidentKind.DEFINITION,
        Severity.ERROR,
        _("on_end of %(workflow)s fails: %(message)s"),
        _("Fix on_end and deploy it to every worker. The process then ends by itself."),
        goes_on=_("each poll calls it again"),
        message=_(
            "%(subject)s cannot end as %(state)s: on_end of %(workflow)s version %(version)s raised"
            " %(reason)s"
        ),
    ),
    AlertKind(
        "row_unusable",
        IncidentKind.OTHER,
        Severity.ERROR,
        _("A row cannot be read or written: %(error)s"),
        _("Inspect the row and repair what the error names, such as a document edited by hand."),
        goes_on=_("the row is tried again each time; the others go on without it"),
        message=_("Cannot %(duty)s %(row)s: %(error)s. All others go on."),
    ),
    AlertKind(
        "sink_undeliverable",
        IncidentKind.SUBMITTER,
        Severity.NOTICE,
        _("%(about)s cannot be notified of what was submitted"),
        _("Ask the owner to fix the endpoint, then redeliver."),
        message={
            "owner": _(
                "%(owner)s cannot be notified of orders at the %(kind)s %(place)s: %(reason)s."
            ),
            "nobody": _(
                "A submitter cannot be notified of orders at the %(kind)s %(place)s: %(reason)s."
            ),
            "mend": _("No order waits for it. Once it is fixed: manage.py sas sinks retry."),
        },
    ),
    AlertKind(
        "commits_lost",
        IncidentKind.INSTALLATION,
        Severity.URGENT,
        _("The database may have lost commits: nothing is claimed"),
        _(
            "Run manage.py sas restored --since T --until now, with T the earliest time of which"
            " commits may be missing; workers may run. If none is missing, run manage.py sas"
            ' restored --nothing-lost. See "Restore a database" in the documentation.'
        ),
        message={
            "timeline": _(
                "A standby was promoted (timeline %(before)s to %(after)s). Commits not yet"
                " replicated are lost, including orders and records of calls."
            ),
            "moved": _(
                "The database is another one, or on another server, than before: it was restored,"
                " or is a copy."
            ),
            "held": _("Nothing is claimed until an operator has checked."),
        },
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
        goes_on=_("messages reach their owners some seconds late"),
        message=_(
            "Messages of another installation, %(installation)s, arrive in %(queue)s. This one is"
            " %(own)s. It processes none of them and puts each back for its owner."
        ),
    ),
    AlertKind(
        "webhook_refused",
        IncidentKind.OTHER,
        Severity.ERROR,
        _("Genuine webhooks of %(about)s are refused"),
        _(
            "Look up at the provider what they report, and answer their steps by hand. Fix what"
            " refuses them, or raise the provider's max_bytes, and have them sent again."
        ),
        goes_on=_("the provider sends them again, usually for some days"),
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
    AlertKind(
        "schedule_failed",
        IncidentKind.OTHER,
        Severity.ERROR,
        _("Schedule %(about)s cannot fire"),
        _("Fix what it says. Until then it is tried again, as late as its catch_up allows."),
        goes_on=_("other schedules fire"),
        message=_("Schedule %(schedule)s cannot fire: %(error)s"),
    ),
    AlertKind(
        "schedule_missed",
        IncidentKind.OTHER,
        Severity.NOTICE,
        _("Schedule %(about)s missed instants"),
        _(
            "Backfill them if they are still wanted, and acknowledge. If it is usual, raise"
            " catch_up."
        ),
        goes_on=_("later instants fire"),
        message=_(
            "Schedule %(schedule)s did not fire %(count)s instants, from %(first)s to %(last)s:"
            " they were later than its catch_up."
        ),
    ),
    AlertKind(
        "schedule_gone",
        IncidentKind.OTHER,
        Severity.NOTICE,
        _("Schedule %(about)s is in no code, and has ended"),
        _("If it was removed on purpose, acknowledge. If not, deploy the code that declares it."),
        message=_("Schedule %(schedule)s ended: no worker's code declared it at %(at)s."),
    ),
):
    register_alert_kind(_kind)
