"""From which logs settings are chosen: a few long ones, or as many short ones as hold as much."""

from types import SimpleNamespace

from taupi.identification.rows.passes import CHOICE_LOGS, OpenedLogs, choice_order
from taupi.identification.rows.recording import SEEN


def opened(samples):
    sources = {k: SimpleNamespace(samples=count) for k, count in enumerate(samples)}
    return OpenedLogs(tuple(f"run{k}.csv" for k in sources), sources, {})


def test_of_long_logs_a_few_are_enough():
    chosen = opened([2 * SEEN] * 40).chosen(choice_order(40, 0))
    assert len(chosen) == CHOICE_LOGS and chosen == sorted(chosen)


def test_short_logs_are_all_looked_at():
    assert opened([600] * 80).chosen(choice_order(80, 0)) == list(range(80))
    some = opened([SEEN // 4] * 80).chosen(choice_order(80, 0))
    assert len(some) == 4 * CHOICE_LOGS


def test_logs_that_could_not_be_opened_do_not_count():
    logs = opened([2 * SEEN] * 20)
    fewer = OpenedLogs(logs.logs, {k: v for k, v in logs.sources.items() if k % 2}, {})
    assert (
        all(k % 2 for k in fewer.chosen(choice_order(20, 0))) and len(fewer.chosen(choice_order(20, 0))) == CHOICE_LOGS
    )
