"""Writers of objects."""

from __future__ import annotations

from metashell.common.forms import SAMPLE
from metashell.shell.output import write_objects
from tests.shell.fake_nodes import complaints, fake_context, printed


def test_rows_are_written_as_they_come_once_the_columns_are_known():
    ctx = fake_context(output="table")
    seen: list[int] = []

    def rows():
        for index in range(SAMPLE + 5):
            yield {"n": index}
            seen.append(len(ctx.out.getvalue()))

    write_objects(ctx, rows())
    assert seen[SAMPLE - 2] == 0
    assert seen[SAMPLE - 1] > 0
    assert len(printed(ctx).splitlines()) == SAMPLE + 6


def test_json_lines_are_written_one_by_one():
    ctx = fake_context(output="json")

    def rows():
        yield {"n": 1}
        assert ctx.out.getvalue() == '[\n{"n":1}'
        yield {"n": 2}

    write_objects(ctx, rows())
    assert printed(ctx) == '[\n{"n":1},\n{"n":2}\n]\n'


def test_a_field_for_which_there_is_no_column_is_told():
    ctx = fake_context(output="csv", command="ls")
    write_objects(ctx, [*({"a": 1} for _ in range(SAMPLE)), {"a": 1, "late": 2}])
    assert complaints(ctx) == "ls: no column for late, which no early row has; -o jsonl has all\n"
    assert printed(ctx).startswith("a\n1\n")


def test_the_columns_of_few_rows_are_the_keys_of_all():
    ctx = fake_context(output="csv")
    write_objects(ctx, [{"a": 1}, {"b": None}])
    assert printed(ctx) == "a,b\n1,\n,\n"
    assert complaints(ctx) == ""


def test_no_rows_give_the_heading_that_is_known():
    for columns, text in (((), ""), (("path", "type"), "path,type\n")):
        ctx = fake_context(output="csv")
        write_objects(ctx, [], columns=columns)
        assert printed(ctx) == text
