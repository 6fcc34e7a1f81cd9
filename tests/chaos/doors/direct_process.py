"""A Django process that places orders by ``place_order``: one a line in, one a line out."""

import json
import sys
import time

import django


def main() -> None:
    django.setup()
    from django.db import DatabaseError, InterfaceError, close_old_connections

    from orders.submission import Customer, Line, SubmissionRefused, place_order

    for text in sys.stdin:
        given = json.loads(text)
        body = given["body"]
        while True:
            close_old_connections()
            try:
                order, _ = place_order(
                    Customer(**body["customer"]),
                    [Line(**line) for line in body["lines"]],
                    submission_key=given["key"],
                    source="demo",
                    reference=body["reference"],
                )
                answer = {"number": order.number}
                break
            except SubmissionRefused as error:
                answer = {"refused": str(error)}
                break
            except (DatabaseError, InterfaceError):
                # Whether it was committed is not known: the same key again finds out.
                time.sleep(0.3)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
