#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the migrations of sql/ as a C table: embed_sql.py OUT.c NNNN-what.sql ...

The numbers must run 0001, 0002, ... without a gap, since number n is what takes schema n-1 to n.
"""
import pathlib
import sys


def literal(line):
    return '"' + line.replace('\\', '\\\\').replace('"', '\\"') + '\\n"'


def main():
    out, files = pathlib.Path(sys.argv[1]), [pathlib.Path(p) for p in sys.argv[2:]]
    rows = []
    for n, path in enumerate(files, 1):
        if not path.name.startswith(f'{n:04}-'):
            sys.exit(f'{path}: expected a name that starts with {n:04}-')
        lines = '\n        '.join(literal(x) for x in path.read_text(encoding='utf-8').splitlines())
        rows.append(f'    {{"{path.stem}",\n        {lines}}},\n')
    out.write_text('/* Generated from sql/ by tools/embed_sql.py. */\n'
                   '#include "store/store_sqlite_i.h"\n\n'
                   'const struct store_migration store_migrations[] = {\n' + ''.join(rows) + '};\n'
                   f'const int store_migration_count = {len(files)};\n', encoding='utf-8')


if __name__ == '__main__':
    main()
