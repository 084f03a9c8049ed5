#!/bin/sh
# Makes docs/measured/minigpt_loss.csv and .png: the training loss of every healthy mode of samples/minigpt.
# Usage: loss_plot.sh BUILD [FOLDER]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec /usr/bin/python3 "$here/loss_plot.py" "$1" "${2:-$here/../../docs/measured}"
