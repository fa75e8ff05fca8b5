"""One line per figure, as figures.h prints them for programs in C: value, bar, peer, met or missed."""
# SPDX-License-Identifier: Apache-2.0
import sys

missed = 0


def figure(name, value, sense, bar, unit, peer=""):
    global missed
    met = value >= bar if sense == ">=" else value <= bar
    missed += not met
    print(f"{name:<44} {value:>12.4g} {unit:<16} bar {sense} {bar:<10.4g} {'met' if met else 'MISSED':<6} "
          f"{'peer: ' + peer if peer else ''}".rstrip(), flush=True)


def seen(name, value, unit):
    print(f"{name:<44} {value:>12.4g} {unit}", flush=True)


def end():
    sys.exit(1 if missed else 0)
