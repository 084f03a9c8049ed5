#!/usr/bin/env python3
"""Executes the commands and examples of README.md and docs/.

In a ```console block every line that starts with `$ ` is a command; the lines below it are its output, compared exactly,
where a line `...` stands for any lines and `...` inside a line for any text. `$ command  # exits 1` states an exit code
other than 0. A block without output lines is only run. In a ```cpp block that contains `int main(` the program is compiled
with the light headers and the runtime and run in the same folder, before the commands that follow it.
All blocks of one page run in order in one scratch folder, with the built programs on PATH.

Usage: doc_commands.py ROOT BUILD CXX PAGE. Commands that install or build everything (./tools/...) are only checked to exist:
the repository's CI runs them.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile


def blocks(text):
    """(language, line number, lines) of every fenced block."""
    found, language, start, lines = [], None, 0, []
    for number, line in enumerate(text.splitlines(), 1):
        fence = re.match(r"^```(\w*)\s*$", line)
        if fence and language is None:
            language, start, lines = fence.group(1), number, []
        elif fence:
            found.append((language, start, lines))
            language = None
        elif language is not None:
            lines.append(line)
    return found


def matches(expected, actual):
    """Whether the expected lines, with `...` as wildcard, describe the actual ones."""
    parts = []
    for line in expected:
        if line.strip() == "...":
            parts.append("(?:.*\n)*?")
        else:
            parts.append(".*?".join(re.escape(piece.rstrip() if i == line.count("...") else piece)
                                    for i, piece in enumerate(line.split("..."))) + r"\s*?\n")
    return re.fullmatch("".join(parts), "".join(line.rstrip() + "\n" for line in actual)) is not None


def steps(lines):
    """(command, expected exit code, expected output lines) of a console block."""
    found = []
    for line in lines:
        if line.startswith("$ "):
            command = line[2:]
            code = re.search(r"\s+# exits (\d+)\s*$", command)
            found.append([command[:code.start()] if code else command, int(code.group(1)) if code else 0, []])
        elif found:
            found[-1][2].append(line)
    return found


def run_console(page, name, folder, environment):
    """Runs the console blocks of a page in a folder: (commands run, commands that went wrong)."""
    failed = ran = 0
    for language, start, lines in blocks(page.read_text()):
        if language != "console":
            continue
        count, wrong = run_block(f"{name}:{start}", lines, folder, environment)
        ran, failed = ran + count, failed + wrong
    return ran, failed


def run_block(where, lines, folder, environment):
    """Runs the commands of one console block: (commands run, commands that went wrong)."""
    failed = ran = 0
    for command, code, expected in steps(lines):
        ran += 1
        run = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, timeout=600)
        if run.returncode != code:
            print(f"{where}: `{command}` exits {run.returncode}, the page says {code}:\n{run.stdout}")
            failed += 1
        elif expected and not matches(expected, run.stdout.splitlines()):
            print(f"{where}: `{command}` prints\n{run.stdout}instead of\n" + "\n".join(expected))
            failed += 1
    return ran, failed


def main():
    root, build, compiler, page = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4]
    environment = dict(os.environ, PATH=f"{build}/bin:{os.environ['PATH']}", COLUMNS="100", NO_COLOR="1",
                       OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", PRTE_MCA_quiet="1")
    failed = ran = 0
    with tempfile.TemporaryDirectory() as scratch:
        environment["HOME"] = scratch
        for name in ("docs", "samples", "tests", "LICENSE", "README.md"):
            (pathlib.Path(scratch) / name).symlink_to(root / name)
        for language, start, lines in blocks((root / page).read_text()):
            where = f"{page}:{start}"
            if language == "cpp" and any("int main(" in line for line in lines):
                ran += 1
                source = pathlib.Path(scratch) / "example.cpp"
                source.write_text("\n".join(lines) + "\n")
                run = subprocess.run([compiler, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-I", str(root / "include"),
                                      str(source), "-o", f"{scratch}/example", f"-L{build}/lib", f"-Wl,-rpath,{build}/lib",
                                      "-lnumdiff_runtime"], cwd=scratch, capture_output=True, text=True)
                if run.returncode == 0:
                    run = subprocess.run([f"{scratch}/example"], cwd=scratch, env=environment, capture_output=True, text=True)
                if run.returncode != 0:
                    print(f"{where}: the example fails:\n{run.stdout}{run.stderr}")
                    failed += 1
            if language != "console":
                continue
            tools = [line for line in lines if re.match(r"\$ (sudo )?\./tools/", line)]
            for line in tools:
                if not os.access(root / line.split("./", 1)[1].split()[0], os.X_OK):
                    print(f"{where}: no such command: {line}")
                    failed += 1
            count, wrong = run_block(where, [line for line in lines if line not in tools], scratch, environment)
            ran, failed = ran + count, failed + wrong
    print(f"{page}: {ran} command(s) and example(s) run, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
