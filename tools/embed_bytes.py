#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a file as an array of bytes in C: embed_bytes.py OUT.c NAME HEADER FILE"""
import pathlib
import sys


def main():
    out, name, header, source = sys.argv[1:]
    data = pathlib.Path(source).read_bytes()
    rows = '\n'.join('    ' + ' '.join(f'{byte},' for byte in data[i:i + 20]) for i in range(0, len(data), 20))
    pathlib.Path(out).write_text(f'/* Generated from {pathlib.Path(source).name} by tools/embed_bytes.py. */\n'
                                 f'#include "{header}"\n\nconst unsigned char {name}[] = {{\n{rows}\n}};\n'
                                 f'const size_t {name}_n = sizeof {name};\n', encoding='ascii')


if __name__ == '__main__':
    main()
