"""`TopApp`: the figures of one or more nodes, live in a terminal, with Textual."""

from __future__ import annotations

import os
from typing import Any, ClassVar, cast

from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import DataTable, Footer, Sparkline, Static

from fray._node_http import NodeHttp
from fray._top.figures import COLUMNS, Column, Picture, columns_for, figure_lines, look, row_of, title, waiting_lines
from fray.errors import FrayError

__all__ = ["TopApp"]

_TASKS_PER_SECOND = "tasks_per_second"


class TopApp(App[None]):
    """Shows one node at a time; asks it for its figures every `interval` seconds, also after the node was away.

    Args:
        nodes: at least one.
        interval: seconds between two requests.
    """

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #title { height: 1; text-style: bold; }
    #figures { height: auto; }
    #rate { height: 2; margin: 0 0 1 0; }
    #waiting { height: auto; max-height: 6; }
    #functions { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "Quit"),
        Binding("ctrl+c", "quit", show=False, priority=True),
        Binding("space,p", "pause", "Pause"),
        Binding("s", "sort", "Sort by the next column"),
        Binding("r", "reverse", "Reverse"),
        Binding("n", "next_node", "Next node"),
    ]

    def __init__(self, nodes: list[NodeHttp], interval: float) -> None:
        # With the terminal's own colours NO_COLOR removes all; else Textual would turn them into shades of grey.
        super().__init__(ansi_color="NO_COLOR" in os.environ)
        self._folders = nodes
        self._interval = interval
        self._chosen = 0
        self._paused = False
        self._sort = "seconds_total"
        self._descending = True
        self._picture: Picture | None = None
        self._problem = ""

    def compose(self) -> ComposeResult:
        yield Static("", id="title", markup=False)
        yield Static("", id="figures", markup=False)
        yield Sparkline([], id="rate")
        yield Static("", id="waiting", markup=False)
        yield DataTable[Text](id="functions", cursor_type="row", zebra_stripes=True)
        yield Footer()

    def on_mount(self) -> None:
        self.set_interval(self._interval, self._look)
        self._look()

    def on_resize(self) -> None:
        self._show()

    # ---- looking

    def _look(self) -> None:
        if not self._paused:
            self._ask(self._chosen, self._sort, self._descending)

    @work(thread=True, exclusive=True, exit_on_error=False)
    def _ask(self, chosen: int, sort: str, descending: bool) -> None:
        try:
            picture, problem = look(self._folders[chosen], sort, descending), ""
        except FrayError as error:
            picture, problem = None, str(error)
        self.call_from_thread(self._take, chosen, picture, problem)

    def _take(self, chosen: int, picture: Picture | None, problem: str) -> None:
        if chosen != self._chosen or self._paused:
            return
        self._picture = picture or self._picture
        self._problem = problem
        self._show()

    # ---- showing

    def _show(self) -> None:
        self.query_one("#title", Static).update(Text(self._title(), no_wrap=True, overflow="ellipsis"))
        if self._picture is None:
            return
        now = self._picture.now
        figures = Text("\n".join(f"{name:<9}{text}" for name, text in figure_lines(now)), no_wrap=True)
        self.query_one("#figures", Static).update(figures)
        self.query_one("#waiting", Static).update(Text("\n".join(waiting_lines(now))))
        self.query_one("#rate", Sparkline).data = _rates(now)
        self._fill(self._picture.functions)

    def _title(self) -> str:
        place = f"node {self._chosen + 1} of {len(self._folders)}: " if len(self._folders) > 1 else ""
        state = " (paused)" if self._paused else ""
        if self._problem:
            return f"{place}The node went away, reconnecting: {self._problem}{state}"
        return f"{place}{title(self._picture) if self._picture else 'asking the node'}{state}"

    def _fill(self, functions: list[dict[str, Any]]) -> None:
        table = cast("DataTable[Text]", self.query_one("#functions"))
        columns = columns_for(self.size.width)
        row, left = table.cursor_row, table.scroll_x
        table.clear(columns=True)
        for column in columns:
            table.add_column(Text(self._heading(column)), key=column.key)
        for function in functions:
            cells = row_of(function, columns)
            table.add_row(*(Text(cell, justify="right" if place else "left") for place, cell in enumerate(cells)))
        table.move_cursor(row=min(row, max(0, len(functions) - 1)))
        table.scroll_x = left

    def _heading(self, column: Column) -> str:
        if column.key != self._sort:
            return column.title
        return f"{column.title} {'▼' if self._descending else '▲'}"

    # ---- keys

    def action_pause(self) -> None:
        """Keep what is shown, or follow again."""
        self._paused = not self._paused
        self._show()
        self._look()

    def action_sort(self) -> None:
        """Sort by the next of the columns that are shown."""
        keys = [column.key for column in columns_for(self.size.width)]
        place = keys.index(self._sort) + 1 if self._sort in keys else 0
        self._sort = keys[place % len(keys)]
        self._descending = self._sort != COLUMNS[0].key
        self._sort_again()

    def action_reverse(self) -> None:
        """Sort the other way round."""
        self._descending = not self._descending
        self._sort_again()

    def on_data_table_header_selected(self, event: DataTable.HeaderSelected) -> None:
        """Sort by the column that was clicked."""
        key = str(event.column_key.value)
        self._descending = not self._descending if key == self._sort else key != COLUMNS[0].key
        self._sort = key
        self._sort_again()

    def _sort_again(self) -> None:
        self._paused = False  # the node sorts
        self._look()

    def action_next_node(self) -> None:
        """Show the next node."""
        self._chosen = (self._chosen + 1) % len(self._folders)
        self._picture, self._problem = None, ""
        self._paused = False
        self._show()
        self._look()


def _rates(now: dict[str, Any] | Any) -> list[float]:
    history = now["history"]
    column = history["columns"][history["fields"].index(_TASKS_PER_SECOND)]
    return [float(value or 0) for value in column]
