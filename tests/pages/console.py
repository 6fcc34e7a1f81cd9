"""`manage.py shell` for a program: runs the snippets that come in, one after another.

One JSON text a line: in, the source of a snippet and the name to show for it; out, what it
printed, and its traceback if it failed.
"""

import contextlib
import io
import json
import sys
import traceback


def main() -> None:
    import django

    django.setup()
    names: dict[str, object] = {"__name__": "page"}
    answers = sys.stdout
    for line in sys.stdin:
        asked = json.loads(line)
        out = io.StringIO()
        trouble = ""
        with contextlib.redirect_stdout(out):
            try:
                exec(compile(asked["source"], asked["name"], "exec"), names)
            except BaseException:
                trouble = traceback.format_exc()
        print(json.dumps({"said": out.getvalue(), "trouble": trouble}), file=answers, flush=True)


if __name__ == "__main__":
    main()
