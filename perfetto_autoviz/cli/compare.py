"""``autoviz compare``: two builds, and what changed from one to the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from perfetto_autoviz.cli import options
from perfetto_autoviz.cli.terminal import progress, show

if TYPE_CHECKING:
    from perfetto_autoviz.comparison.result import Assignment

_WITH = "--with"


class _TwoBuilds(click.Command):
    """A command with an option that takes as many values as follow it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeats ``--with`` before each path that follows it, as click takes one at a time."""
        return super().parse_args(ctx, [*_spread(args)])


def _spread(args: Sequence[str]) -> Iterator[str]:
    taking = False
    for number, word in enumerate(args):
        follows = number > 0 and args[number - 1] == _WITH
        if word.startswith("-") and len(word) > 1 and not follows:
            taking = word == _WITH
        elif taking and not follows:
            yield _WITH
        yield word


def _weights(
    _context: click.Context, _parameter: click.Parameter, value: str | None
) -> tuple[float, float] | None:
    """Two numbers with a comma between them."""
    if value is None:
        return None
    try:
        jaccard, levenshtein = (float(part) for part in value.split(","))
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is no pair of numbers like 0.7,0.3") from error
    return jaccard, levenshtein


def _pairs(
    _context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    """Refuses before any work what is no pair."""
    for value in values:
        one, colon, other = value.partition(":")
        if not (one and colon and other):
            raise click.BadParameter(f"{value!r} is no pair of patterns like P1:P3")
    return values


@click.argument("captures", nargs=-1, required=True, metavar="A...")
@click.option(
    _WITH,
    "others",
    multiple=True,
    required=True,
    metavar="B...",
    help="Captures, or folders of them, of the other build.",
)
@click.option(
    "-o",
    "--out",
    required=True,
    metavar="DIR",
    help="Folder for the results; made, whole or not at all.",
)
@click.option(
    "--weights",
    callback=_weights,
    metavar="J,L",
    help="Weights of the similarity of sets (Jaccard) and of sequences (Levenshtein) in a score. "
    "Default: 0.7,0.3.",
)
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="Score above which two patterns match.",
)
@click.option(
    "--pair",
    "pairs",
    multiple=True,
    callback=_pairs,
    metavar="P1:P3",
    help="Compare A's pattern with B's, whatever their score. May be repeated.",
)
@click.option(
    "--assignment",
    type=click.Choice(["greedy", "optimal"]),
    default="greedy",
    show_default=True,
    help="Take the best pair first, or the pairs with the largest sum of scores.",
)
@click.option(
    "--steady",
    is_flag=True,
    help="Compare only steady iterations in which both builds do the same.",
)
@options.steps
@options.light
@options.trace_processor
@options.as_json
@options.quiet
@click.option("-f", "--force", is_flag=True, help="Replace a folder that holds a comparison.")
def run(
    captures: tuple[str, ...],
    others: tuple[str, ...],
    out: str,
    weights: tuple[float, float] | None,
    threshold: float,
    pairs: tuple[str, ...],
    assignment: Assignment,
    steady: bool,
    steps: Mapping[str, Any],
    light: bool,
    trace_processor: str | None,
    as_json: bool,
    quiet: bool,
    force: bool,
) -> None:
    """Compare two builds.

    A and B are captures, folders with one file per rank, or enriched traces, several of each:
    autoviz compare A... --with B... -o DIR. Patterns are detected in each build and matched;
    of each pair, DIR says what changed in time and in kernels. It holds tables (CSV, times in
    ns), report.html for a browser, summary.json, and enriched traces of both builds.
    """
    from perfetto_autoviz.comparison.api import compare
    from perfetto_autoviz.options import Options
    from perfetto_autoviz.reports.comparison.document import document, json_text
    from perfetto_autoviz.reports.comparison.terminal import view
    from perfetto_autoviz.steps.compare import Weights

    chosen = weights or (Weights.jaccard, Weights.levenshtein)
    with progress(quiet=quiet or as_json) as report:
        found = compare(
            captures,
            others,
            out,
            weights=chosen,
            threshold=threshold,
            pairs=pairs,
            assignment=assignment,
            steady=steady,
            force=force,
            steps=Options(**steps),
            light=light,
            trace_processor=trace_processor,
            progress=report,
        )
    if as_json:
        click.echo(json_text({**document(found), "output": out}), nl=False)
    elif not quiet:
        show(view(found, out))


command = click.command("compare", cls=_TwoBuilds)(run)
