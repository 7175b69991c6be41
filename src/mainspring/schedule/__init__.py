"""When things fire: schedules as data, and the arithmetic of their instants.

Pure: nothing here asks a clock, a file or a database. Every question takes its instants as
arguments, so that engine, command line and tests get the same answers.

    specs.py        what a schedule is, as plain data, and what makes one invalid
    parsing.py      from what an author writes to a spec
    timetable.py    the instants of a spec: next, last, between, how many
    explaining.py   a spec in plain words        previewing.py   its next fires, with notes
    differing.py    what a change of a spec adds, removes and moves
    crontab.py      the lines of a crontab as schedules
    simulating.py   the fires of many schedules in order, and how many start in each minute

Below these: `cron_fields.py` reads a cron line, `cron_days.py`, `cron_times.py` and `cron.py` find
the wall-clock times that it names, `recurrence.py`, `steady.py` and `calendar_periods.py` those of
an RRULE; `zones.py` knows when clocks change and `zoned.py` turns wall-clock times into instants
there; `plain.py` has the instants that need no zone; `calendars.py` says which days are left out.

## What happens when clocks change

A wall-clock time that a change of clocks leaves out lies in a *gap*; one that happens twice lies in
a *fold*. Cron lines with fixed hours, and RRULEs, follow the schedule's `dst_gap` and `dst_fold`:
in a gap they fire once, at its end (`run_after_gap`), or not at all (`skip`); in a fold in the
first pass, in the last, or in both. Lines whose hour is a wildcard (`*`, `*/n`, `H/n`) follow
elapsed time: they fire whenever the wall clock shows a time that matches, so in both passes of a
fold, and nothing is made up for a gap. Intervals, single instants and dates are instants and know
no clocks.
"""
