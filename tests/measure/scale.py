"""Times numdiff on runs of many ranks. Called by scale.sh.

Memory is the sum over numdiff's processes of what each alone holds and its share of what several hold (PSS), sampled every
20 ms: the largest such sum. Peaks of single processes would leave out the children that read.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

build, output = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
numdiff, many_ranks = build / "bin/numdiff", build / "tests/measure/many_ranks"
TRIES = int(sys.argv[3])
LAYERS, CAPTURES = 48, 12
environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def family(root):
    """The process and all that descend from it."""
    found, ahead = [], [root]
    while ahead:
        pid = ahead.pop()
        found.append(pid)
        try:
            for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
                ahead += [int(p) for p in (task / "children").read_text().split()]
        except OSError:
            pass
    return found


def proportional(pid):
    """MiB of a process, 0 when it is gone or another program (mpirun, its daemons)."""
    try:
        if pathlib.Path(f"/proc/{pid}/exe").resolve() != numdiff:
            return 0
        text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
        return int(re.search(r"^Pss:\s+(\d+)", text, re.M).group(1)) / 1024
    except (OSError, AttributeError):
        return 0


def run(command, sample):
    """(wall seconds, processor seconds, MiB or None, standard output); a run is timed or sampled, never both."""
    before = os.times()
    begin = time.monotonic()
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=environment, text=True)
    peak = None
    if sample:
        peak = 0
        while process.poll() is None:
            peak = max(peak, sum(proportional(p) for p in family(process.pid)))
            time.sleep(0.02)
    out, err = process.communicate()
    wall = time.monotonic() - begin
    after = os.times()
    cpu = after.children_user - before.children_user + after.children_system - before.children_system
    if process.returncode not in (0, 1, 3):
        sys.exit(f"{' '.join(map(str, command))}: exits {process.returncode}: {err}")
    return wall, cpu, peak, out


def best(command):
    timed = min((run(command, False) for _ in range(TRIES)), key=lambda r: r[0])
    return timed[0], timed[1], run(command, True)[2], timed[3]


def verdict(text):
    return text.strip().splitlines()[-1].replace("numdiff: ", "")


def files(folder, ranks, tp):
    dp = ranks // tp
    subprocess.run([many_ranks, folder / "b.h5", f"tp={tp}", f"dp={dp}", f"layers={LAYERS}"], check=True)
    subprocess.run([many_ranks, folder / "a.h5", f"layers={LAYERS}", f"batch={dp}"], check=True)
    size = sum(f.stat().st_size for f in folder.glob("b.rank*.h5") if not f.name.endswith(".views.h5"))
    return size / 1e6


rows, answers, by_ranks = [], set(), {}
for ranks in (256, 512, 1024):
    with tempfile.TemporaryDirectory(prefix="scale-") as scratch:
        folder = pathlib.Path(scratch)
        megabytes = files(folder, ranks, 8)
        plain = [numdiff, "--color", "never", folder / "a.h5", folder / "b.h5"]
        subprocess.run(plain, stdout=subprocess.DEVNULL, env=environment)  # into the page cache
        one = best(plain)
        by_ranks[ranks] = one
        rows.append((ranks, megabytes, "1", *one[:3], verdict(one[3])))
        if ranks == 1024:
            single = run([numdiff, "--json", folder / "a.h5", folder / "b.h5"], False)[3]
            two = best(["mpirun", "--oversubscribe", "--bind-to", "none", "-n", "2", *plain])
            rows.append((ranks, megabytes, "2 (MPI)", *two[:3], verdict(two[3])))
            double = run(["mpirun", "--oversubscribe", "--bind-to", "none", "-n", "2", numdiff, "--json", folder / "a.h5",
                          folder / "b.h5"], False)[3]
            same = single == double
            reading = best([numdiff, "show", "--top", "1", folder / "b.h5"])

with tempfile.TemporaryDirectory(prefix="scale-") as scratch:
    folder = pathlib.Path(scratch)
    for name, more in (("a.h5", []), ("b.h5", ["twice=130"])):
        subprocess.run([many_ranks, folder / name, f"layers={LAYERS}", "steps=260", *more], check=True)
    plain = [numdiff, "--color", "never", folder / "a.h5", folder / "b.h5"]
    subprocess.run(plain, stdout=subprocess.DEVNULL)
    long_pair = best(plain)

t = {r: by_ranks[r] for r in by_ranks}
per_rank = [(t[1024][i] - t[256][i]) / 768 for i in range(3)]
base = [t[256][i] - 256 * per_rank[i] for i in range(3)]
far = [base[i] + 10000 * per_rank[i] for i in range(3)]
half = [base[i] + 512 * per_rank[i] for i in range(3)]
cores = len(os.sched_getaffinity(0))
load = os.getloadavg()[0]

table = "\n".join(f"| {r:,} | {m:,.0f} | {p} | {w:.2f} | {c:.2f} | {k:.0f} | {v} |" for r, m, p, w, c, k, v in rows)
seconds, memory = t[1024][0], t[1024][2]
met = [f"{'met' if seconds <= 5 else f'missed by {seconds - 5:.2f} s'}", f"{'met' if memory <= 500 else f'missed by {memory - 500:.0f} MiB'}"]
output.write_text(f"""# Many ranks

`tests/measure/scale.sh BUILD`: a generated job (`tests/measure/many_ranks`: feed-forward layers computed in FP32 as a job of that
layout does it; tensor parallelism 8, the rest data parallelism; sums over both as all-reduces) is written by the real runtime and sink at level
`sketch`, {CAPTURES} captures a layer and rank, {LAYERS} layers, one step, and compared with the same job on one rank. {cores} processors, files in the
page cache, the best of {TRIES} tries each; the load average was {load:.1f} at the end. MiB is the largest sum over all processes of numdiff, those that read
included, of the memory that is theirs.

| ranks | MB of files | processes | s | processor s | MiB | last line |
|---|---|---|---|---|---|---|
{table}

- 1,024 ranks hold {1024 * LAYERS * CAPTURES:,} captures. Aim: 5 s on 2 cores ({met[0]}: {seconds:.2f} s) and 500 MB ({met[1]}: {memory:.0f} MiB).
- Reading alone (`numdiff show`, which lists ranks and ops): {reading[0]:.2f} s, {reading[1]:.2f} processor s.
- Two processes and one give {'the same report, byte for byte' if same else '**different reports**'}. On one machine a single process already reads
  with as many children as there are processors: more processes are for more machines, and cost the transfer.

## Two runs of one rank

260 steps of the same stack, 99,840 captures a side (209 MB a file), which part at step 131 in one layer: {long_pair[0]:.2f} s, {long_pair[1]:.2f} processor s,
{long_pair[2]:.0f} MiB. Aim: 1 s.

## To 10,000 ranks

A projection, from these figures. Time and memory grow with the ranks; processor time is the steadier measure of the two where other programs run:

| | at 256 ranks | at 1,024 | for each rank more | at 512, predicted | at 512, measured | at 10,000, predicted |
|---|---|---|---|---|---|---|
| s | {t[256][0]:.2f} | {t[1024][0]:.2f} | ({t[1024][0]:.2f} - {t[256][0]:.2f}) / 768 = {1000 * per_rank[0]:.2f} ms | {half[0]:.2f} | {t[512][0]:.2f} | {base[0]:.2f} + 10,000 x {1000 * per_rank[0]:.2f} ms = {far[0]:.0f} s |
| processor s | {t[256][1]:.2f} | {t[1024][1]:.2f} | {1000 * per_rank[1]:.2f} ms | {half[1]:.2f} | {t[512][1]:.2f} | {far[1]:.0f} s |
| MiB | {t[256][2]:.0f} | {t[1024][2]:.0f} | ({t[1024][2]:.0f} - {t[256][2]:.0f}) / 768 = {per_rank[2]:.3f} | {half[2]:.0f} | {t[512][2]:.0f} | {base[2]:.0f} + 10,000 x {per_rank[2]:.3f} = {far[2]:,.0f} |

Memory is that of rows, about 0.5 KB a capture; sketches (2 KB) stay in the files and are added up as they are asked for. The first process holds the
rows of all ranks. A process of a team that is not the first holds its share until it has sent it. `--rank` and `--step` read less into the judgement, not into memory.
""")
print(output.read_text())
sys.exit(0 if same else 1)
