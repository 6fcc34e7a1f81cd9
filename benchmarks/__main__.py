"""`make bench`: measure, compare, judge, and report."""

import json
import signal
import sys
from collections.abc import Sequence

from benchmarks import bars, options, report, result, servers, templates
from benchmarks.bench import Bench, say
from benchmarks.report import docs, text


def main(words: Sequence[str]) -> int:
    asked = options.parse(words)
    if asked.write_docs is not None:
        docs.write(asked.write_docs)
        return 0
    # As Ctrl-C: whatever was made for the run is dropped on the way out.
    signal.signal(signal.SIGTERM, _interrupt)
    bench = Bench(asked)
    try:
        with servers.cluster():
            with templates.made(bench):
                measured = result.run(bench)
            found = result.complete(measured, bench)
    except KeyboardInterrupt:
        say("interrupted; whatever was made for it is dropped")
        return 130
    found["bars"] = bars.judge(found)
    if asked.json is not None:
        asked.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if asked.report is not None:
        report.write(asked.report, found)
    print(text.render(found))
    for one in bench.wrong:
        say(f"WRONG: {one}")
    return 1 if bench.wrong else 0


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
