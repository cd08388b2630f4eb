"""Schedules of CronJobs in five fields, as Kubernetes reads them (robfig/cron, standard parser). Pure."""

from __future__ import annotations

from controller.domain.shared.plurals import count

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_LONGEST = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)  # days of each month, in a leap year
# Name, first and last number, and words for numbers.
_FIELDS: tuple[tuple[str, int, int, dict[str, int]], ...] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of the month", 1, 31, {}),
    ("month", 1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    ("day of the week", 0, 6, {name: number for number, name in enumerate(_DAYS)}),
)


def schedule_problem(schedule: str) -> str:
    """What is wrong with a schedule of five fields, empty for nothing: `minute 61 is not from 0 to 59`."""
    parts = schedule.split()
    if len(parts) != len(_FIELDS):
        return f"has {count(len(parts), 'field')} instead of five"
    for text, field in zip(parts, _FIELDS, strict=True):
        for item in text.split(","):
            if problem := _item_problem(item, *field):
                return problem
    return "" if _comes(*parts[2:]) else "never occurs, because its months do not have that day"


def shortest_gap(schedule: str) -> int:
    """The least number of seconds between two times of a schedule; a day for one time a day or fewer, and 0
    for what is no schedule."""
    if schedule_problem(schedule):
        return 0
    minutes, hours = (
        _numbers(text, field) for text, field in zip(schedule.split(), _FIELDS[:2], strict=False)
    )
    times = sorted(hour * 60 + minute for hour in hours for minute in minutes)
    following = [*times[1:], times[0] + 24 * 60]
    return 60 * min(after - before for before, after in zip(times, following, strict=True))


def longest_gap(schedule: str) -> int:
    """The seconds of an hour, a day, a week, a month or a year: two times of the schedule are not further
    apart; 0 for what is no schedule."""
    if schedule_problem(schedule):
        return 0
    _, hours, days, months, week = schedule.split()
    if months not in ("*", "?"):
        return 366 * 86400
    if days not in ("*", "?"):
        return 31 * 86400
    if week not in ("*", "?"):
        return 7 * 86400
    return 3600 if hours == "*" else 86400


def _numbers(text: str, field: tuple[str, int, int, dict[str, int]]) -> list[int]:
    _, first, last, words = field
    items = text.split(",")
    return [n for n in range(first, last + 1) if any(_has(one, n, first, last, words) for one in items)]


def _comes(days: str, months: str, weekdays: str) -> bool:
    """Whether there is such a day in any year; with a day of the week that is said, either is enough."""
    if not any(item in ("*", "?") for item in weekdays.split(",")):
        return True
    least = min(_first(item) for item in days.split(","))
    _, first, last, words = _FIELDS[3]
    return any(
        least <= length
        for month, length in zip(range(first, last + 1), _LONGEST, strict=True)
        if any(_has(item, month, first, last, words) for item in months.split(","))
    )


def _first(item: str) -> int:
    """The first day of the month that an item of right form has."""
    start = item.partition("/")[0].partition("-")[0]
    return 1 if start in ("*", "?") else int(start)


def _has(item: str, number: int, first: int, last: int, words: dict[str, int]) -> bool:
    """Whether a number is among those of an item of right form."""
    span, slash, step = item.partition("/")
    if span not in ("*", "?"):
        ends = [words[end.lower()] if end.lower() in words else int(end) for end in span.split("-", 1)]
        first, last = ends[0], ends[-1] if len(ends) > 1 or not slash else last
    return first <= number <= last and (number - first) % int(step or 1) == 0


def _item_problem(item: str, name: str, first: int, last: int, words: dict[str, int]) -> str:
    span, slash, step = item.partition("/")
    if slash and not (_is_number(step) and int(step) > 0):
        return f'{name} "{item}" has no step after the slash'
    if span in ("*", "?"):
        return ""
    numbers = []
    for end in span.split("-", 1):
        number = words.get(end.lower()) if not _is_number(end) else int(end)
        if number is None:
            return f'{name} "{item}" is not a number, range or *'
        if not first <= number <= last:
            return f"{name} {end} is not between {first} and {last}"
        numbers.append(number)
    return f'{name} "{item}" ends before it begins' if numbers[0] > numbers[-1] else ""


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 4
