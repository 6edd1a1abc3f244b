#!/bin/bash
gcc -std=c11 -O2 -Wall -Wextra -o kv main.c table.c
