"""The graph of a process's steps, in layers from top to bottom, places in pixels.  Pure."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from workers.models import Step

#: Maximum steps in the graph: more would be unreadable.
NODES = 30
WIDTH, HEIGHT = 150, 44
#: Two steps fit side by side on a phone.
GAP_X, GAP_Y = 18, 30
#: An undo step stands under its step, indented: edges pass at its left.
UNDO_INSET, UNDO_GAP, UNDO_HEIGHT = 20, 12, 24
#: Where an edge leaves a step with an undo step under it.
EXIT = 9
#: Room for an edge that passes through a layer.
PASSAGE = 12
MARGIN = 3
#: Letters that fit into a box.
LETTERS, UNDO_LETTERS = 18, 15


@dataclass(frozen=True, slots=True)
class Node:
    name: str
    label: str
    state: str
    agent: str
    #: False for an undo step that is only declared: it is made when an effect is to be undone.
    is_made: bool
    is_undo: bool
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Edge:
    path: str
    #: Leads to an undo step.
    is_undo: bool
    title: str


@dataclass(frozen=True, slots=True)
class Graph:
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    width: float
    height: float
    #: Steps with a box, including undo steps, and steps without one.
    shown: int
    left_out: int


@dataclass(slots=True)
class _Cell:
    """One place in a layer: a step with its undo step, or a passage of an edge."""

    key: str
    width: float
    step: Step | None = None
    undo: Step | None = None
    undo_name: str = ""
    x: float = 0.0

    @property
    def height(self) -> float:
        return HEIGHT + UNDO_GAP + UNDO_HEIGHT if self.undo_name else HEIGHT


def make(steps: Sequence[Step], current: str | None = None) -> Graph:
    """Lay out steps in the order of their positions; if they are many, those around ``current``."""
    shown = _window(steps, current)
    forward = [step for step in shown if step.undoes_id is None]
    undoes = {step.undoes_id: step for step in shown if step.undoes_id is not None}
    cells = {step.name: _cell(step, undoes.get(step.pk)) for step in forward}
    # Undo steps whose steps have no box here.
    for step in undoes.values():
        if step.undoes_id not in {other.pk for other in forward}:
            cells[step.name] = _Cell(step.name, WIDTH, step)
    layers, links = _into_layers(cells)
    _order(layers, links)
    width = _set_x(layers)
    nodes, edges, height = _draw(layers, links)
    return Graph(tuple(nodes), tuple(edges), width, height, len(shown), len(steps) - len(shown))


def _window(steps: Sequence[Step], current: str | None) -> list[Step]:
    ordered = sorted(steps, key=lambda step: step.position)
    if len(ordered) <= NODES:
        return ordered
    names = [step.name for step in ordered]
    index = names.index(current) if current in names else 0
    first = min(max(index - NODES // 2, 0), len(ordered) - NODES)
    return ordered[first : first + NODES]


def _cell(step: Step, undo: Step | None) -> _Cell:
    name = undo.name if undo else str((step.spec.undo or {}).get("name", ""))
    return _Cell(step.name, WIDTH, step, undo, name)


def _into_layers(cells: dict[str, _Cell]) -> tuple[list[list[_Cell]], list[list[_Cell]]]:
    """Return the cells by layer, and each edge as the cells that it leads through."""
    depth: dict[str, int] = {}
    for name, cell in cells.items():
        # Steps come after those that they wait for: cells are in the order of positions.
        before = [depth[source] for source in _before(cell) if source in depth]
        depth[name] = max(before, default=-1) + 1
    layers: list[list[_Cell]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for name, cell in cells.items():
        layers[depth[name]].append(cell)
    links = []
    for name, cell in cells.items():
        for source in _before(cell):
            if source not in cells or depth[source] >= depth[name]:
                continue
            chain = [cells[source]]
            for level in range(depth[source] + 1, depth[name]):
                passage = _Cell(f"{source}>{name}", PASSAGE)
                layers[level].append(passage)
                chain.append(passage)
            links.append([*chain, cell])
    return layers, links


def _before(cell: _Cell) -> list[str]:
    return list(cell.step.spec.after) if cell.step is not None else []


def _order(layers: list[list[_Cell]], links: list[list[_Cell]]) -> None:
    """Put each cell under the middle of those that lead to it, so that few edges cross."""
    above: dict[int, list[_Cell]] = {}
    for chain in links:
        for upper, lower in itertools.pairwise(chain):
            above.setdefault(id(lower), []).append(upper)
    for upper_layer, layer in itertools.pairwise(layers):
        places = {id(cell): index for index, cell in enumerate(upper_layer)}

        def middle(cell: _Cell, places: dict[int, int] = places) -> float:
            parents = [
                places[id(upper)] for upper in above.get(id(cell), []) if id(upper) in places
            ]
            return sum(parents) / len(parents) if parents else float(len(places))

        layer.sort(key=middle)


def _set_x(layers: list[list[_Cell]]) -> float:
    """Give every cell its x, each layer in the middle; return the width of all."""
    widths = [sum(cell.width for cell in layer) + GAP_X * (len(layer) - 1) for layer in layers]
    total = max(widths, default=0.0)
    for layer, width in zip(layers, widths, strict=True):
        x = MARGIN + (total - width) / 2
        for cell in layer:
            cell.x = x
            x += cell.width + GAP_X
    return total + 2 * MARGIN


def _draw(
    layers: list[list[_Cell]], links: list[list[_Cell]]
) -> tuple[list[Node], list[Edge], float]:
    """Return the nodes, the edges and the total height."""
    nodes, edges, tops = [], [], {}
    bottoms: dict[int, float] = {}
    y = float(MARGIN)
    for layer in layers:
        height = max(cell.height for cell in layer)
        for cell in layer:
            tops[id(cell)], bottoms[id(cell)] = y, y + height
            if cell.step is not None:
                nodes.append(_node(cell.step, cell.x, y))
            if cell.undo_name:
                nodes.append(_undo_node(cell, y + HEIGHT + UNDO_GAP))
                edges.append(_undo_edge(cell, y + HEIGHT))
        y += height + GAP_Y
    for chain in links:
        path = _path(chain, tops, bottoms)
        edges.append(Edge(path, False, f"{chain[0].key} → {chain[-1].key}"))
    return nodes, edges, y - GAP_Y + MARGIN


def _undo_edge(cell: _Cell, y: float) -> Edge:
    x = cell.x + (UNDO_INSET + WIDTH) / 2
    return Edge(f"M{x:g} {y:g}V{y + UNDO_GAP - 1:g}", True, f"{cell.key} ⤺ {cell.undo_name}")


def _path(chain: list[_Cell], tops: dict[int, float], bottoms: dict[int, float]) -> str:
    """Return the path from a step, past its undo step, through passages, to another's top."""
    first, *others = chain
    x = first.x + (EXIT if first.undo_name else WIDTH / 2)
    y = tops[id(first)] + HEIGHT
    path = f"M{x:g} {y:g}"
    y = bottoms[id(first)]
    path += f"V{y:g}"
    for cell in others:
        is_last = cell is others[-1]
        next_x = cell.x + cell.width / 2
        end = tops[id(cell)] - (1 if is_last else 0)
        bend = (end - y) / 2
        path += f"C{x:g} {y + bend:g} {next_x:g} {end - bend:g} {next_x:g} {end:g}"
        x, y = next_x, bottoms[id(cell)]
        if not is_last:
            path += f"V{y:g}"
    return path


def _node(step: Step, x: float, y: float) -> Node:
    is_undo = step.undoes_id is not None
    label = _short(step.name, LETTERS)
    return Node(step.name, label, step.state, step.agent, True, is_undo, x, y, WIDTH, HEIGHT)


def _undo_node(cell: _Cell, y: float) -> Node:
    undo, step = cell.undo, cell.step
    declared = str(((step.spec.undo if step else None) or {}).get("agent", ""))
    return Node(
        name=cell.undo_name,
        label=_short(cell.undo_name, UNDO_LETTERS),
        state=undo.state if undo else "",
        agent=undo.agent if undo else declared,
        is_made=undo is not None,
        is_undo=True,
        x=cell.x + UNDO_INSET,
        y=y,
        width=WIDTH - UNDO_INSET,
        height=UNDO_HEIGHT,
    )


def _short(name: str, letters: int) -> str:
    return name if len(name) <= letters else f"{name[: letters - 1]}…"
