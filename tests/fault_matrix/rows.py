"""The faults that the system promises to survive, and what is to be seen of each."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    id: str
    fault: str
    expected: str


ROWS: tuple[Row, ...] = tuple(
    Row(*words)
    for words in (
        (
            "F1",
            "kill -9 of a worker's child in the middle of a call",
            "Complete-by passes; one failure is counted; the next attempt has the same key.",
        ),
        (
            "F2",
            "A call has its effect and its answer never comes",
            "The same key again, or a question, as declared: one effect, and processed once.",
        ),
        (
            "F3",
            "kill -9 of a whole worker",
            "What it had not started is delivered again; the rest expires and is tried again.",
        ),
        (
            "F4",
            "A scheduler dies between claim and sending",
            "The same claim is sent again; no failure is counted.",
        ),
        (
            "F5",
            "A submission dies before its commit",
            "Nothing is to be seen of it; sent again it is one order.",
        ),
        ("F6", "A message is lost", "Time, and at most one attempt; never an effect."),
        ("F7", "A message comes twice, or ten times", "One run; the others do nothing."),
        (
            "F8",
            "A reply comes after complete-by",
            "Once the claim is over it changes nothing, and is journalled once.",
        ),
        ("F9", "A reply to a superseded claim", "It changes nothing."),
        (
            "F10",
            "The broker is away when an order is submitted",
            "The order is accepted; the next poll finds it.",
        ),
        (
            "F11",
            "The broker is away when requests or replies are sent",
            "Claims go back and replies go to their rows; no failure is counted.",
        ),
        (
            "F12",
            "The broker hangs: it accepts and says nothing",
            "Sending gives up within its bound; the web does not notice.",
        ),
        (
            "F13",
            "The broker's memory alarm",
            "Confirms time out; the poll looks instead; nothing is lost.",
        ),
        (
            "F14",
            "The broker is emptied, or its queues vanish",
            "Queues are declared again and messages made from the rows.",
        ),
        (
            "F15",
            "The database crashes in a transaction",
            "Committed or rolled back, never half; workers connect again.",
        ),
        (
            "F16",
            "The database is away for 30 s",
            "503 at the door; messages rest; nothing but time is lost.",
        ),
        (
            "F17",
            "An exception inside COMMIT",
            "What is true is in the rows; whoever looks next goes on from them.",
        ),
        (
            "F18",
            "Several supervisors and schedulers at once",
            "Each row is moved by one of them, once.",
        ),
        ("F19", "Two Beats", "More sweeps than are needed, and nothing else."),
        ("F20", "No Beat", "Workers notice, sweep and poll themselves, and raise an alert."),
        (
            "F21",
            "A supervisor freezes beyond its lease and wakes up",
            "It changes nothing that another has changed.",
        ),
        (
            "F22",
            "A worker's clock is wrong by minutes",
            "Nothing expires early or runs late: the database's clock counts.",
        ),
        ("F23", "A service takes nearly all the time it has", "Processed; no failure is counted."),
        ("F24", "A service refuses for good", "Final at once, and its policy is carried out."),
        (
            "F25",
            "A service is away, breaks off, or cannot be found",
            "Parked with backoff; the breaker opens; no failure is counted.",
        ),
        (
            "F26",
            "A service answers rubbish: cut, huge, endless, of wrong types",
            "Read within bounds; a failure with the reason.",
        ),
        (
            "F27",
            "A service did it and said that it failed",
            "Asked where it can be; the same key otherwise; an operator where neither helps.",
        ),
        (
            "F28",
            "An order kills whoever works on it, each time",
            "In error at its threshold; others go on.",
        ),
        (
            "F29",
            "A submission that is no message of ours",
            "Kept as a dead letter with the reasons; the consumer lives.",
        ),
        ("F30", "A huge submission", "Refused before it is read, or kept in part."),
        (
            "F31",
            "Text that is meant for a database, page, mail or table",
            "Kept as it is, and harmless wherever it is shown.",
        ),
        (
            "F32",
            "A reply queue that is gone, full or not the client's own",
            "Refused, or given up with an alert; the order goes on.",
        ),
        ("F33", "A worker runs out of memory", "As with kill -9; the child is replaced."),
        (
            "F34",
            "SIGTERM in the middle of calls; a rolling restart",
            "Calls end or are handed back; no failure is counted.",
        ),
        (
            "F35",
            "Code that does not know an order's workflow",
            "The order is left to code that does, with an alert.",
        ),
        ("F36", "A migration while orders are under way", "Old code goes on with the new schema."),
        ("F37", "A disk is full", "Writes fail cleanly, and go on once there is room."),
        ("F38", "No more database connections", "Waiting, and no deadlock."),
        (
            "F39",
            "An undo fails again and again, or dies",
            "Tried again, then one alert; it goes on where it stopped.",
        ),
        (
            "F40",
            "Two operators, or an operator and an agent, at once",
            "One of them does it; the other is told, or looks again.",
        ),
        ("F41", "A token or signature that is stolen, over or forged", "Refused; nothing changes."),
        (
            "F42",
            "A client that submits far too much",
            "429 for that client; the others are served.",
        ),
    )
)
