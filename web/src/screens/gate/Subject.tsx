/** What a question is about: what the run shows, and how that differs from the iteration before. */
import { useState } from "react";
import { Link, runPath } from "../../app/router";
import { useJournal } from "../../app/run";
import { Value } from "../../app/Value";
import { textOf } from "../../app/values";
import { Diff } from "../../charts";
import { questionBefore } from "../../dialogs/gates";
import { isObject, type GateState, type Json } from "../../journal";
import { useLoad } from "../../app/session";

interface SubjectProps {
  run: string;
  gate: GateState;
  subject: { loop: string; number: number } | null;
}

export function Subject({ run, gate, subject }: SubjectProps) {
  const before = useShownBefore(run, gate, subject);
  const [isDiff, setDiff] = useState(false);
  const number = subject?.number ?? 0;
  return (
    <section aria-label="what it is about" className="gate-subject">
      {before !== undefined && (
        <div className="toolbar">
          <fieldset className="segments">
            <legend className="sr-only">What is shown</legend>
            <label className={isDiff ? "" : "is-chosen"}>
              <input type="radio" name="shown" checked={!isDiff} onChange={() => setDiff(false)} />
              result #{number}
            </label>
            <label className={isDiff ? "is-chosen" : ""}>
              <input type="radio" name="shown" checked={isDiff} onChange={() => setDiff(true)} />
              changes since #{number - 1}
            </label>
          </fieldset>
          {subject && gate.reason !== "gate" && (
            <Link to={runPath(run, "/diff")} query={{ loop: subject.loop, one: number - 1, other: number }}>
              Diff
            </Link>
          )}
        </div>
      )}
      {isDiff && before !== undefined ? <Differences before={before} after={gate.show} /> : <Shown run={run} value={gate.show} />}
    </section>
  );
}

/** What was shown for the same question one iteration before: told by the journal, else by results. */
function useShownBefore(run: string, gate: GateState, subject: SubjectProps["subject"]): Json | undefined {
  const asked = useJournal((journal) => journal.gates.get(questionBefore(gate.address)), [gate.address]);
  const wanted = !asked && gate.reason !== "gate" && subject && subject.number > 1 ? subject : null;
  const { loop, number } = wanted ?? { loop: "", number: 0 };
  const loaded = useLoad(
    async (client, signal) => (loop ? client.iteration(run, loop, number - 1, signal) : null),
    [run, loop, number],
  );
  return asked ? asked.show : ((loaded.value?.results as Json | undefined) ?? undefined);
}

/** The results of an iteration one under the other; anything else as it is. */
function Shown({ run, value }: { run: string; value: Json }) {
  if (!isObject(value) || "$ref" in value) return <Value run={run} value={value} />;
  return (
    <>
      {Object.entries(value).map(([name, one]) => (
        <div key={name} className="fed">
          <h2>{name}</h2>
          <Value run={run} value={one} />
        </div>
      ))}
    </>
  );
}

function Differences({ before, after }: { before: Json; after: Json }) {
  if (!isObject(before) || !isObject(after)) return <Diff before={textOf(before)} after={textOf(after)} />;
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return (
    <>
      {names.map((name) => (
        <div key={name} className="fed">
          <h2>{name}</h2>
          <Diff before={textOf(before[name])} after={textOf(after[name])} label={`changes of ${name}`} />
        </div>
      ))}
    </>
  );
}
