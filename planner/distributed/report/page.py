"""The files of a sharding answer: page, plan, frames and charts."""

import json
from datetime import date
from pathlib import Path

from planner.distributed.report.sections import shard_headline, shard_sections
from planner.distributed.shard_answer import ShardAnswer
from planner.report.frames import frame_of, rows_by_name, write_charts, write_frames
from planner.report.page import PageHead, render_sections
from profiles.files import make_folder, replace_file

__all__ = ["SCHEMA", "write_shard_page"]

SCHEMA = "recplan.shard/1"
PAGE = "sharding.html"


def write_shard_page(answer: ShardAnswer, folder: Path) -> Path:
    """Write `sharding.html`, `sharding.json` (the answer), `plan.json` (the plan), `frames/` and `charts/`.

    Returns the page's path.

    Raises:
        StorageError: a file cannot be written.
    """
    sections = shard_sections(answer)
    cluster = answer.plan.cluster
    head = PageHead(
        name=answer.request.name,
        eyebrow="recplan shard",
        facts=(cluster.title or cluster.name, f"{cluster.nodes:,} x {cluster.devices_per_node} ranks"),
        created=date.today().isoformat(),  # noqa: DTZ011 (the reader's date)
    )
    page = render_sections(head, shard_headline(answer), sections)
    make_folder(folder)
    answer.plan.save(folder / "plan.json")
    body = {"schema": SCHEMA, **answer.to_object()}
    replace_file(folder / "sharding.json", json.dumps(body, indent=1, ensure_ascii=False) + "\n")
    write_frames(sections, folder / "frames")
    for name, rows in rows_by_name(sections).items():
        replace_file(folder / "frames" / f"{name}.csv", frame_of(rows).write_csv())
    write_charts(sections, folder / "charts")
    return replace_file(folder / PAGE, page)
