#!/usr/bin/env python3
"""Starts hillclimb_worker from a checkout, so that a task can name a file: python3 baselines/python/worker.py [--device cpu]."""

import os
import runpy
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
runpy.run_module("hillclimb_worker", run_name="__main__", alter_sys=True)
