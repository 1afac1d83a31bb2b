"""The routes: which models of the server return the scores of a profile's heads for one batch."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from deid_client.agreement import Needed
from deid_client.settings import Route
from deid_client.tensors import Array, Askable, Output, Question, head_scores, outputs_of
from deid_runtime.models.engines import TokenScores
from deid_runtime.models.manifest import Graph, HeadVersion, served_version

_Answer = TypeVar("_Answer")

#: The scores of every version of every head, in the order of the graphs and of their heads.
Votes = list[tuple[HeadVersion, TokenScores]]


class Infer(Protocol):
    """Sends one question, with retries. Returns the result of ``parse`` for the endpoint's name and the outputs."""

    def __call__(
        self, question: Askable, parse: Callable[[str, Mapping[str, Array]], _Answer]
    ) -> Awaitable[_Answer]: ...


@dataclass(frozen=True, slots=True)
class Router:
    """The models of the graphs of one profile. ``all_graphs``: the profile has all graphs of the model manifest.

    Every question names the version of its model, which comes from the digests of its graphs. So each answer is made by
    the graphs of the model manifest, even when the server exchanges its models between two questions.
    """

    route: Route
    graphs: Sequence[Graph]
    all_graphs: bool

    def needed(self) -> dict[str, Needed]:
        """Return the models that the route uses, by name."""
        if self._joins_graphs:
            asked = {"deid": [out for graph in self.graphs for out in _outputs(graph.heads, (), f"_{graph.name}")]}
        else:
            asked = {self._model(graph): _outputs(graph.heads, ()) for graph in self.graphs}
        return {
            model: Needed(model, {output.name: output.dtype for output in outputs}) for model, outputs in asked.items()
        }

    async def ask(self, infer: Infer, inputs: Mapping[str, Array]) -> Votes:
        """Ask every model of :meth:`needed` and return the scores of all versions of all heads for ``inputs``.

        ``inputs`` are three int32 arrays ``(rows, tokens)``. Raises the errors of ``infer``.
        """
        shape = next(iter(inputs.values())).shape
        if self._joins_graphs:
            return await self._ask_all(infer, inputs, shape)
        answers = await _together(self._ask_graph(infer, inputs, shape, graph) for graph in self.graphs)
        return [vote for votes in answers for vote in votes]

    @property
    def _joins_graphs(self) -> bool:
        return self.route == "ensemble" and self.all_graphs and len(self.graphs) > 1

    def _model(self, graph: Graph) -> str:
        return f"deid_{graph.name}" if self.route == "ensemble" else graph.name

    async def _ask_all(self, infer: Infer, inputs: Mapping[str, Array], shape: tuple[int, ...]) -> Votes:
        outputs = [output for graph in self.graphs for output in _outputs(graph.heads, shape, f"_{graph.name}")]

        def parse(endpoint: str, arrays: Mapping[str, Array]) -> Votes:
            return [
                (version, head_scores(endpoint, version, arrays, f"_{graph.name}"))
                for graph in self.graphs
                for version in graph.heads
            ]

        version = served_version(*(graph.sha256 for graph in self.graphs))
        return await infer(Question("deid", inputs, outputs, version), parse)

    async def _ask_graph(
        self, infer: Infer, inputs: Mapping[str, Array], shape: tuple[int, ...], graph: Graph
    ) -> Votes:
        return await infer(
            Question(self._model(graph), inputs, _outputs(graph.heads, shape), served_version(graph.sha256)),
            lambda endpoint, arrays: [(version, head_scores(endpoint, version, arrays)) for version in graph.heads],
        )


async def _together(asked: Iterable[Coroutine[object, object, _Answer]]) -> list[_Answer]:
    """Return all answers, in order. When one fails, the others are cancelled, so that no request stays in flight."""
    tasks = []
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in asked]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


def _outputs(versions: Sequence[HeadVersion], shape: tuple[int, ...], suffix: str = "") -> list[Output]:
    return [output for version in versions for output in outputs_of(version, shape, suffix)]
