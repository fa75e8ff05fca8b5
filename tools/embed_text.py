#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a shell program as a C string: embed_text.py OUT.c NAME HEADER FILE...

It is text that travels to every node, so lines that are only a comment, and indentation, stay here.
"""
import pathlib
import sys


def main():
    out, name, header, *sources = sys.argv[1:]
    lines = [line.lstrip('\t ') for source in sources for line in pathlib.Path(source).read_text(encoding='ascii').splitlines()]
    kept = [line for line in lines if line and (not line.startswith('#') or line.startswith('#!'))]
    literal = '\n'.join('    "' + line.replace('\\', '\\\\').replace('"', '\\"').replace('\t', '\\t') + '\\n"'
                        for line in kept)
    pathlib.Path(out).write_text(f'/* Generated from {pathlib.Path(sources[0]).name} by tools/embed_text.py. */\n'
                                 f'#include "{header}"\n\nconst char {name}[] =\n{literal};\n'
                                 f'const size_t {name}_n = sizeof {name} - 1;\n', encoding='ascii')


if __name__ == '__main__':
    main()
