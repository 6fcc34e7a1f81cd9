"""The desk's duties by lease, in the order in which they run.

``workers.desk.apps`` registers them at start; Supervisor and Scheduler run them and import none.
"""

from workers.conf import sas
from workers.desk import states, wake_ups
from workers.desk.notify import ping
from workers.desk.operate import health
from workers.desk.store import deliveries, delivery_plans, incidents, jobs
from workers.operate.duties import ALERT_CLOSING
from workers.store.duties import When, duty
from workers.store.leases import HeldLease
from workers.wire import dispatch


# Before alerts are closed, so that each gets an incident, however soon it is over.
@duty(states.INCIDENT_COLLECTION, When.SWEEP, before=ALERT_CLOSING)
def collect_incidents(lease: HeldLease) -> None:
    while incidents.collect() >= incidents.PORTION and lease.renew():
        pass


@duty(states.INCIDENT_REFRESH, When.SWEEP)
def refresh_incidents(_lease: HeldLease) -> None:
    incidents.refresh()


@duty(states.DELIVERY_PLANNING, When.SWEEP)
def plan_deliveries(_lease: HeldLease) -> None:
    delivery_plans.plan()


@duty("report_requests", When.SWEEP)
def request_reports(_lease: HeldLease) -> None:
    if deliveries.seconds_waiting() is not None or ping.is_due():
        dispatch.report()


@duty("figure_requests", When.SWEEP)
def request_figures(_lease: HeldLease) -> None:
    if health.is_due():
        wake_ups.KEEP_HEALTH.send()


@duty("job_requests", When.POLL)
def request_jobs(_lease: HeldLease) -> None:
    if jobs.needs_runner(sas.poll_seconds):
        wake_ups.RUN_JOBS.send()
