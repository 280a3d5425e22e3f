#!/bin/sh
# Records the journals that the tests of the reducer read: each as NAME.jsonl (the events)
# and NAME.json (the result document of the same run). No model is asked: replies are canned.
set -eu
web=$(cd "$(dirname "$0")/.." && pwd)
examples=$web/../examples
flows=$web/test/workflows
journals=$web/test/journals
store=$(mktemp -d)
trap 'rm -rf "$store"' EXIT

# keep NAME: writes down the run that the store saw last.
keep() {
    whorl watch last --store "$store" --events >"$journals/$1.jsonl" 2>/dev/null || true
    whorl watch last --store "$store" --json >"$journals/$1.json" 2>/dev/null || true
    echo "$1: $(wc -l <"$journals/$1.jsonl") events"
}

# record NAME FOLDER ARGUMENTS...: runs a workflow and keeps its journal, with streamed text.
record() {
    name=$1 folder=$2
    shift 2
    (cd "$folder" && whorl run "$@" --store "$store" --events) >"$journals/$name.jsonl" 2>/dev/null || true
    whorl watch last --store "$store" --json >"$journals/$name.json" 2>/dev/null || true
    echo "$name: $(wc -l <"$journals/$name.jsonl") events"
}

record polish "$examples" polish.yaml "a haiku about rain" --config demo.toml
record limited "$examples" polish.yaml "a haiku about rain" --config demo.toml --max-iterations 1
whorl continue last --iterations 2 --budget +0.50 --store "$store" --config "$examples/demo.toml" >/dev/null 2>&1 || true
keep continued
record nested "$flows" nested.yaml "a parser" --config replies.toml
record broken "$flows" broken.yaml --config replies.toml
record waiting "$flows" waiting.yaml --config replies.toml
whorl reject last --feedback "longer" --store "$store" --config "$flows/replies.toml" >/dev/null 2>&1 || true
whorl approve last --store "$store" --config "$flows/replies.toml" >/dev/null 2>&1 || true
keep approved
record book "$examples/mcp-cli" book.yaml "a book"
record developer "$examples/mcp-cli" iterative_developer.yaml "add two numbers"
record judged "$examples/studio" judged.json "x"
record quality "$examples/orka" quality_loop.yml "x" --config demo.toml
record poor "$flows" nested.yaml "a parser" --config replies.toml --budget 0.22
