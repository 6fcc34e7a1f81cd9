"""Where a test plays a short run: private servers in a folder that goes with it."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.instances import postgresql, rabbitmq
from tests.chaos.instances.server import NotHere
from tests.chaos.options import parse
from tests.chaos.progress import Progress
from tests.chaos.stage import Stage
from tests.services import missing

SEED = 7


@pytest.fixture(params=["postgresql+rabbitmq"])
def stage(request) -> Iterator[Stage]:
    """Yield a stage; what is told while it plays is shown with a test that fails."""
    try:
        if "postgresql" in request.param:
            postgresql.programs()
        if "rabbitmq" in request.param:
            rabbitmq.programs()
    except NotHere as error:
        missing(str(error))
    # Not pytest's own folder: the unprivileged user of PostgreSQL does not get there.
    folder = Path(tempfile.mkdtemp(prefix="sas-chaos-test-"))
    folder.chmod(0o711)
    options = parse(["--seed", str(SEED), "--on", request.param], {})
    yield Stage(options, folder, Progress(sys.stderr))
    shutil.rmtree(folder)
