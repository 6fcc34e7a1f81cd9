"""Which order is a copy of which specimen: drawn by a seed, in tables of the session."""

from collections.abc import Sequence

from benchmarks.population.specimens import Specimen

#: Orders of one transaction.
CHUNK = 50_000
#: Old copies are spread over so many days, recent ones over the last.
DAYS = 365
FIRST = ("Ada", "Ben", "Chloé", "Dmitri", "Eun-ji", "Fatima", "Gustav", "花子", "Ines", "Jan")
LAST = ("Abe", "Berg", "Costa", "Dubois", "Eriksen", "Ferrari", "Garcia", "Hofer", "Ito", "陳")


def begin(cursor, specimens: Sequence[Specimen], orders: int, seed: int) -> None:
    """Make what plans are drawn from: each specimen's share, its processes and its steps."""
    recent = sum(one.weight for one in specimens if one.is_recent)
    share = recent / sum(one.weight for one in specimens)
    for name in ("population", "specimen", "specimen_process", "specimen_step", "copied"):
        cursor.execute(f"DROP TABLE IF EXISTS pg_temp.{name}")
    cursor.execute(
        "CREATE TEMP TABLE population AS SELECT %s::bigint AS orders, %s::bigint AS seed,"
        " greatest(%s::bigint, 1) AS recent, max(number) AS number,"
        " (SELECT max(id) FROM workers_process) AS process_base,"
        " (SELECT max(id) FROM workers_step) AS step_base, clock_timestamp() AS now"
        " FROM orders_order",
        [orders, seed, round(orders * share)],
    )
    cursor.execute(
        "CREATE TEMP TABLE specimen AS SELECT o.number AS kind, v.is_recent, p.created_at AS born,"
        " 1.0 * (sum(v.weight) OVER w - v.weight) / sum(v.weight) OVER (PARTITION BY v.is_recent)"
        " AS low, 1.0 * sum(v.weight) OVER w / sum(v.weight) OVER (PARTITION BY v.is_recent)"
        " AS high FROM unnest(%s::bigint[], %s::bigint[], %s::boolean[])"
        " AS v(number, weight, is_recent)"
        " JOIN orders_order o ON o.number = v.number JOIN workers_process p ON p.id = o.process_id"
        " WINDOW w AS (PARTITION BY v.is_recent ORDER BY v.number)",
        [
            [one.number for one in specimens],
            [one.weight for one in specimens],
            [one.is_recent for one in specimens],
        ],
    )
    cursor.execute(
        "CREATE TEMP TABLE specimen_process AS SELECT *, row_number() OVER (PARTITION BY kind"
        " ORDER BY id) AS rank FROM (SELECT o.number AS kind, p.id, true AS is_order,"
        " replace(p.uid::text, '-', '') AS hex FROM orders_order o"
        " JOIN workers_process p ON p.id = o.process_id"
        " UNION ALL SELECT (p.input->>'order')::bigint, p.id, false, replace(p.uid::text, '-', '')"
        " FROM workers_process p WHERE p.workflow = 'return') all_of_them"
    )
    cursor.execute(
        "CREATE TEMP TABLE specimen_step AS SELECT q.kind, s.id,"
        " row_number() OVER (PARTITION BY q.kind ORDER BY s.id) AS rank"
        " FROM specimen_process q JOIN workers_step s ON s.process_id = q.id"
    )
    cursor.execute("ANALYZE specimen_process")
    cursor.execute("ANALYZE specimen_step")


def draw(cursor, first: int, last: int) -> None:
    """Say of the orders from ``first`` to ``last`` what each is: rows ``copied``."""
    cursor.execute("DROP TABLE IF EXISTS pg_temp.copied")
    cursor.execute(
        "CREATE TEMP TABLE copied AS WITH drawn AS (SELECT n AS place, b.*,"
        " n > b.orders - b.recent AS is_recent, ('x' || substr(md5(b.seed || ':' || n), 1, 8))"
        "::bit(32)::bigint AS random FROM population b, generate_series(%s::bigint, %s) AS n),"
        " timed AS (SELECT *, CASE WHEN is_recent"
        " THEN now - interval '1 day' * (orders - place + 1)"
        " / (recent + 1.0) ELSE now - interval '1 day' - interval '1 day' * %s * (orders - recent"
        " - place) / orders END AS at FROM drawn)"
        " SELECT d.place, k.kind, d.at, d.at - k.born AS shift, d.number + d.place AS number,"
        " d.process_base + sum(p.processes) OVER w - p.processes AS process_base,"
        " d.step_base + sum(t.steps) OVER w - t.steps AS step_base, u.stem,"
        " md5(u.stem || 'public')::uuid AS public_id,"
        " (%s::text[])[1 + random %% 10] || ' ' || (%s::text[])[1 + random / 10 %% 10] AS name,"
        " 'customer' || random %% (1 + d.orders / 5) || '@example.org' AS email,"
        " (1 + random %% 200) || ' Some Road' || chr(10) || 'Somewhere' AS address"
        " FROM timed d JOIN specimen k ON k.is_recent = d.is_recent"
        " AND d.random / 4294967296.0 >= k.low AND d.random / 4294967296.0 < k.high"
        " JOIN (SELECT kind, count(*) AS processes FROM specimen_process GROUP BY kind) p"
        " ON p.kind = k.kind"
        " JOIN (SELECT kind, count(*) AS steps FROM specimen_step GROUP BY kind) t"
        " ON t.kind = k.kind"
        # Eight digits of the place, in the order of time, and sixteen that nobody guesses.
        " CROSS JOIN LATERAL (SELECT lpad(to_hex(d.place), 8, '0')"
        " || substr(md5(d.seed || '/' || d.place), 1, 16) AS stem) u"
        " WINDOW w AS (ORDER BY d.place)",
        [first, last, DAYS, list(FIRST), list(LAST)],
    )
    cursor.execute(
        "UPDATE population SET process_base = process_base + (SELECT sum(processes) FROM copied c"
        " JOIN (SELECT kind, count(*) AS processes FROM specimen_process GROUP BY kind) p"
        " ON p.kind = c.kind), step_base = step_base + (SELECT sum(steps) FROM copied c"
        " JOIN (SELECT kind, count(*) AS steps FROM specimen_step GROUP BY kind) s"
        " ON s.kind = c.kind)"
    )
    cursor.execute("ANALYZE copied")
