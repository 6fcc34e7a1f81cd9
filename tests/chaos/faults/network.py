"""The network between the system and its servers: cut, silent, slow, answers lost."""

from tests.chaos.faults.fault import Fault, Scene
from tests.chaos.proxy import Mode
from tests.chaos.schedule import Strike

SERVERS = ("postgresql", "rabbitmq", "redis")
CUT_BYTES = 4000
DELAY_SECONDS = 0.15


def cut(scene: Scene, strike: Strike) -> None:
    """Break every connection to one server; new ones are welcome."""
    name = strike.random().choice(sorted(scene.backend.proxies))
    broken = scene.backend.proxies[name].cut()
    scene.chronicle.strike(strike.fault, name, f"{broken} connections cut")


def _under(mode: Mode, says: str, amount: float = 0.0) -> object:
    def strike_with(scene: Scene, strike: Strike) -> None:
        name = strike.random().choice(sorted(scene.backend.proxies))
        proxy, server = scene.backend.proxies[name], scene.backend.servers[name]
        with scene.hurting(server, strike, says):
            proxy.set(mode, amount)
            try:
                scene.wait(strike.lasts)
            finally:
                proxy.set(Mode.PASS)

    return strike_with


def _fault(name: str, says: str, strike: object, *rest: tuple[float, float]) -> Fault:
    return Fault(name, says, strike, *rest, needs=SERVERS, by_proxy=True)  # type: ignore[arg-type]


FAULTS = (
    _fault("cut", "every connection to a server breaks", cut, (8, 16)),
    _fault("refuse", "a server's port refuses connections", _under(Mode.REFUSE, "refused"),
           (15, 30), (2, 6)),
    _fault("black-hole", "connections to a server stay open and nothing passes",
           _under(Mode.BLACK_HOLE, "nothing passes"), (20, 40), (3, 12)),
    _fault("delay", "every packet to and from a server is late",
           _under(Mode.DELAY, "slow", DELAY_SECONDS), (15, 30), (4, 10)),
    _fault("cut-midway", "connections break after some bytes, in the middle of a request",
           _under(Mode.CUT, "cut midway", CUT_BYTES), (15, 30), (2, 5)),
    _fault("drop-reply", "a server does what it is asked, and its answers are lost",
           _under(Mode.DROP_REPLY, "answers lost"), (15, 30), (1, 4)),
)  # fmt: skip
