"""Every case by name: what it measures, and whether the short form has it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Case:
    #: Where its figures go in the JSON.
    key: str
    says: str
    is_quick: bool = False


CASES = {
    "slow": Case("slow", "services of 0.3, 1 and 3 s: orders below, at and above what has room",
                 True),
    "overload": Case("overload", "twice the orders that services or machine take, then none", True),
    "beside": Case("beside", "a quick agent alone, and beside a slow one that takes all the room",
                   True),
    "paced": Case("paced", "orders one by one: 1 to 16 submit, the database 0 to 20 ms away", True),
    "starved": Case("starved", "the same beside 8 and 24 processes that take the CPU", True),
    "beside-long": Case("beside_long", "a quick agent, alone and beside calls of 150 s", True),
    "rated": Case("rated", "rates of 8 to 1,000 a second; with one of two workers killed", True),
    "outage": Case("outage", "the database away for 16 s during calls of 3 s", True),
    "stack": Case("stack", "`manage.py stack`, services of 3 s, 6 orders a second over HTTP", True),
    "sustained": Case("sustained", "orders as fast as one and eight submitters can, to their end",
                      True),
    "steady": Case("steady", "5, 20 and 100 orders a second: what each waits and costs", True),
    "latency": Case("latency", "one order at a time on idle workers: p50, p95, p99", True),
    "filled": Case("filled", "orders a second of a queue that was filled first", True),
    "http": Case("http", "agents that call a service of 5 and of 50 ms over HTTP", True),
    "apply": Case("apply", "one process applies replies, 100 at a time", True),
    "submission": Case("submission", "orders taken a second: singly, in bulk, over HTTP", True),
    "keys": Case("keys", "a filled queue of one call at a time for each of 1,000 keys", True),
    "lists": Case("lists", "one step that is a list of 10,000, a hundred at once", True),
    "fan": Case("fan_out", "ten steps at once between a first and a last"),
    "sweep": Case("sweep", "finding and resetting expired steps, and claiming, by table size"),
    "recovery": Case("recovery", "time from a step's deadline until it is pending and claimed"),
    "costs": Case("costs", "what the journal and publisher confirms cost"),
    "growth": Case("growth", "throughput with 1, 10 and 100 times as many open orders"),
    "idle": Case("idle_cpu_percent", "CPU of all our processes with nothing to do, for 60 s"),
    "embedded": Case("embedded", "SQLite: transitions a second, and locked errors"),
    "redis": Case("redis", "a filled queue with Redis as the broker"),
}  # fmt: skip
