/** An answer with edits: what is shown, made better by the person, is taken in its place. */
import { useMemo } from "react";
import { isValueRef, type Client } from "../../api";
import { ErrorNotice, Loading } from "../../app/Notice";
import { useLoad } from "../../app/session";
import { editedAs, textOf } from "../../app/values";
import { Command } from "../../dialogs/ActionForm";
import { changesOf, type Edits } from "../../dialogs/changes";
import { commands } from "../../dialogs/commands";
import { ValueField } from "../../dialogs/fields";
import { isObject, type GateState, type Json } from "../../journal";

/** The name of a value that has none of its own. */
export const WHOLE = "value";

interface EditedProps {
  run: string;
  gate: GateState;
  label: string;
  feedback: string;
  edits: Edits;
  onEdits: (edits: Edits) => void;
  isBusy: boolean;
  onSend: (value: unknown) => void;
}

export function Edited({ run, gate, label, feedback, edits, onEdits, isBusy, onSend }: EditedProps) {
  const loaded = useLoad((client, signal) => wholeOf(client, run, gate.show, signal), [run, gate.show]);
  const isLoop = gate.reason !== "gate";
  const values = useMemo(() => valuesOf(loaded.value ?? null, isLoop), [loaded.value, isLoop]);
  const { set, problem } = changesOf(values, edits);
  const isChanged = Object.keys(set).length > 0;
  if (loaded.error) return <ErrorNotice error={loaded.error} onRetry={loaded.reload} />;
  if (loaded.value === null) return <Loading what="the whole value" />;
  const help = isLoop ? "The loop ends with this result. The iteration itself does not change." : `Steps that read ${gate.address}.value get this.`;
  return (
    <div className="edited" role="group" aria-label="edits">
      {Object.entries(values).map(([name, value]) => (
        <ValueField
          key={name}
          name={name}
          type={editedAs(value)}
          text={edits[name] ?? textOf(value)}
          note={name in set ? "changed" : ""}
          onText={(text) => onEdits({ ...edits, [name]: text })}
        />
      ))}
      {problem && <p className="problem">{problem}</p>}
      <button type="button" className="button button-main" disabled={isBusy || !isChanged || problem !== ""} onClick={() => onSend(isLoop ? set : set[WHOLE])}>
        {label} with edits
      </button>
      <p className="help">{isChanged ? help : "Change something first, or answer without edits."}</p>
      {isChanged && <Command text={commands.approveEdited(run, feedback, gate.address, isLoop ? set : null, set[WHOLE])} />}
    </div>
  );
}

/** What can be edited, by name: the results of an iteration, or the one value of a gate. */
export function valuesOf(show: Json, isLoop: boolean): Record<string, Json> {
  return isLoop && isObject(show) ? show : { [WHOLE]: show };
}

/** A value with all that is stored apart. */
async function wholeOf(client: Client, run: string, value: Json, signal: AbortSignal): Promise<Json> {
  if (isValueRef(value)) return (await client.value(run, value.$ref, signal)).value as Json;
  if (Array.isArray(value)) return Promise.all(value.map((one) => wholeOf(client, run, one, signal)));
  if (!isObject(value)) return value;
  const parts = Object.entries(value).map(async ([name, one]) => [name, await wholeOf(client, run, one, signal)] as const);
  return Object.fromEntries(await Promise.all(parts));
}
