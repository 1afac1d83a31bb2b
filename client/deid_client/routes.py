"""Which models of the server are asked, by route, for what the heads of a profile say of one batch."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from deid_client.agreement import Needed
from deid_client.settings import Route
from deid_client.tensors import ANY, Array, Output, Question, head_scores, outputs_of
from deid_runtime.labels import HEADS
from deid_runtime.models.engines import TokenScores
from deid_runtime.models.manifest import HIDDEN, Graph, HeadVersion

_Answer = TypeVar("_Answer")

#: What each version of each head says, in the order of the graphs and of the heads in them.
Votes = list[tuple[HeadVersion, TokenScores]]


class Infer(Protocol):
    """Asks one question, again if need be, and returns what ``parse`` makes of the endpoint's name and the outputs."""

    def __call__(
        self, question: Question, parse: Callable[[str, Mapping[str, Array]], _Answer]
    ) -> Awaitable[_Answer]: ...


@dataclass(frozen=True, slots=True)
class Router:
    """The models behind the graphs of one profile. ``all_graphs``: these are all graphs of the manifest."""

    route: Route
    graphs: Sequence[Graph]
    all_graphs: bool

    def needed(self, *, title_case: bool) -> dict[str, Needed]:
        """Return the models that will be asked. ``title_case``: the name heads are asked for a second look, too."""
        asked: dict[str, Needed] = {}

        def need(model: str, outputs: Sequence[Output]) -> None:
            asked[model] = Needed(model, {output.name: output.dtype for output in outputs})

        for graph in self.graphs:
            if self.route == "separate":
                need(f"encoder_{graph.name}", [_hidden(())])
                for version in graph.heads:
                    need(f"{version.output}_{graph.name}", outputs_of(version, ()))
            elif not self._joins_graphs:
                need(self._model(graph), _outputs(graph.heads, ()))
            if self.route == "ensemble" and title_case:
                for version in graph.heads:
                    if version.head == "name":
                        need(f"{version.output}_normalized_{graph.name}", outputs_of(version, ()))
        if self._joins_graphs:
            need("deid", [out for graph in self.graphs for out in _outputs(graph.heads, (), f"_{graph.name}")])
        return asked

    async def ask(self, infer: Infer, inputs: Mapping[str, Array], heads: Collection[str]) -> Votes:
        """Return what all versions of ``heads`` say of ``inputs``, three int32 arrays ``(rows, tokens)``."""
        shape = next(iter(inputs.values())).shape
        if self._joins_graphs and set(heads) >= {version.head for graph in self.graphs for version in graph.heads}:
            return await self._ask_all(infer, inputs, shape)
        answers = await _together(self._ask_graph(infer, inputs, shape, graph, heads) for graph in self.graphs)
        return [vote for votes in answers for vote in votes]

    async def probe(self, infer: Infer, inputs: Mapping[str, Array], *, title_case: bool) -> None:
        """Ask every model of :meth:`needed` for ``inputs`` and check what it says. Raises what ``infer`` raises."""
        await self.ask(infer, inputs, tuple(HEADS))
        if title_case and self.route == "ensemble":  # only there the second look has models of its own
            await self.ask(infer, inputs, ("name",))

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

        return await infer(Question("deid", inputs, outputs), parse)

    async def _ask_graph(
        self, infer: Infer, inputs: Mapping[str, Array], shape: tuple[int, ...], graph: Graph, heads: Collection[str]
    ) -> Votes:
        versions = [version for version in graph.heads if version.head in heads]
        if self.route == "separate":
            hidden = await infer(Question(f"encoder_{graph.name}", inputs, [_hidden(shape)]), lambda _, arrays: arrays)
            asked = [
                self._ask_heads(infer, f"{version.output}_{graph.name}", hidden, shape, [version])
                for version in versions
            ]
        elif self.route == "ensemble" and list(heads) == ["name"]:
            asked = [
                self._ask_heads(infer, f"{version.output}_normalized_{graph.name}", inputs, shape, [version])
                for version in versions
            ]
        else:
            asked = [self._ask_heads(infer, self._model(graph), inputs, shape, versions)]
        return [vote for votes in await _together(asked) for vote in votes]

    async def _ask_heads(
        self,
        infer: Infer,
        model: str,
        inputs: Mapping[str, Array],
        shape: tuple[int, ...],
        versions: Sequence[HeadVersion],
    ) -> Votes:
        return await infer(
            Question(model, inputs, _outputs(versions, shape)),
            lambda endpoint, arrays: [(version, head_scores(endpoint, version, arrays)) for version in versions],
        )


async def _together(asked: Iterable[Coroutine[object, object, _Answer]]) -> list[_Answer]:
    """Return all answers, in order. When one fails the others are cancelled, so that nothing is left under way."""
    tasks = []
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in asked]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


def _outputs(versions: Sequence[HeadVersion], shape: tuple[int, ...], suffix: str = "") -> list[Output]:
    return [output for version in versions for output in outputs_of(version, shape, suffix)]


def _hidden(shape: tuple[int, ...]) -> Output:
    return Output(HIDDEN, "FP32", (*shape, ANY))
