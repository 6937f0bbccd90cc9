#!/usr/bin/env bash
# Brings order to a folder of photographs, and changes none of them.
#
#     bash archive.sh PHOTOS [UNSORTED] [OUT]
#
# PHOTOS has a subfolder for each subject, or no subfolders. UNSORTED is a folder of photographs without labels, or "".
# The script writes its pages and tables to OUT [archive-out].
set -euo pipefail

photos=${1:?usage: bash archive.sh PHOTOS [UNSORTED] [OUT]}
unsorted=${2:-}
out=${3:-archive-out}
mkdir -p "$out"
CROSSVIEW_HOME=$(realpath "$out")/home
export CROSSVIEW_HOME
unset CROSSVIEW_SERVER # the collection is on this machine

step() { printf '\n== %s\n' "$*"; }
pictures() { find "$1" -type f \( -iname '*.jpg' -o -iname '*.jpeg' -o -iname '*.png' -o -iname '*.webp' \) -print0; }

# The names of subfolders are labels if there are at least two.
labels=()
[ "$(find "$photos" -mindepth 1 -maxdepth 1 -type d | wc -l)" -lt 2 ] || labels=(--labels folder)

step "Index the photographs, with date, camera and lens from their files"
crossview index archive "$photos" "${labels[@]}" --metadata basic
crossview list archive --count --per file.camera

step "Find copies"
crossview duplicates archive --out "$out/copies.html" --out "$out/move.sh" --to "$out/copies"

step "Learn from the photographs"
crossview train archive --holdout 0.1

step "Find photographs like an example"
example=$(pictures "$photos" | sort -z | tr '\0' '\n' | sed -n 1p)
crossview search archive "$example" --view color --targets color,sift -k 12 --out "$out/like-the-first.html"

if [ -n "$unsorted" ] && [ ${#labels[@]} -gt 0 ]; then
    step "Suggest labels for the unsorted photographs"
    pictures "$unsorted" | sort -z | xargs -0 -r crossview suggest archive --view color --out "$out/labels.csv" --
fi

step "Open the page of the archive with:"
echo "    crossview open archive --home $(printf %q "$CROSSVIEW_HOME")"
