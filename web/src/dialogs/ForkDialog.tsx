/** A new run that keeps the iterations before one, and redoes that one with other values. */
import { useMemo, useState } from "react";
import type { GraphNode, IterationItem, RunDetail } from "../api";
import { ErrorNotice, Loading } from "../app/Notice";
import { navigate, runPath } from "../app/router";
import { useClient, useLoad } from "../app/session";
import { editedAs, textOf } from "../app/values";
import { markWords, ScoreCurve } from "../charts";
import { iterationAddress } from "../journal/address";
import { budget as budgetWords, score as scoreWords } from "../journal/words";
import { ActionForm } from "./ActionForm";
import { changesOf, type Edits } from "./changes";
import { commands, type StepChanges } from "./commands";
import { scoresBy, useFamilyCurves } from "./family";
import { amountOf, AmountField, Field, ValueField } from "./fields";
import { loadChoices, type Marked } from "./marked";
import { Modal } from "./Modal";
import { StepGroup, stepChanges, stepsToChange } from "./StepGroup";
import type { DialogOf } from ".";

interface ForkProps {
  request: DialogOf<"fork">;
  onClose: () => void;
}

export function ForkDialog({ request, onClose }: ForkProps) {
  const { run: id, loop } = request;
  const loaded = useLoad(
    async (client, signal) => {
      const [run, choices, graph] = await Promise.all([client.run(id, signal), loadChoices(client, id, loop, signal), client.graph(id, signal)]);
      return { run, ...choices, steps: stepsToChange(graph, loop) };
    },
    [id, loop],
  );
  return (
    <Modal title="Fork" onClose={onClose}>
      {loaded.error !== null && <ErrorNotice error={loaded.error} onRetry={loaded.reload} />}
      {loaded.value ? <ForkForm {...loaded.value} request={request} onClose={onClose} /> : !loaded.error && <Loading what="the run" />}
    </Modal>
  );
}

interface ForkFormProps extends ForkProps {
  run: RunDetail;
  iterations: readonly IterationItem[];
  marked: Marked;
  steps: readonly GraphNode[];
}

function ForkForm({ run, iterations, marked, steps, request, onClose }: ForkFormProps) {
  const client = useClient();
  const { loop } = request;
  const [number, setNumber] = useState(request.iteration);
  const [budget, setBudget] = useState("");
  const [edits, setEdits] = useState<Edits>({});
  const [stepEdits, setStepEdits] = useState<StepChanges>({});
  const [key] = useState(() => crypto.randomUUID());
  const given = useLoad((api, signal) => api.iteration(run.id, loop, number, signal), [run.id, loop, number]);
  const carried = useMemo(() => given.value?.carried ?? {}, [given.value]);
  const others = useFamilyCurves(run, loop);
  const inputs = Object.fromEntries(Object.entries({ ...run.defaults, ...run.inputs }).filter(([name]) => !(name in carried)));
  const { set, problem } = changesOf({ ...inputs, ...carried }, edits);
  const at = iterationAddress(loop, number);
  const budget_usd = amountOf(budget);
  const changed = stepChanges(steps, stepEdits);
  const act = async () => {
    const made = await client.fork(run.id, { at, set, key, steps: changed, ...(budget_usd === undefined ? {} : { budget_usd }) });
    request.onDone?.();
    onClose();
    navigate(runPath(made.run));
  };
  const choose = (next: number) => {
    setNumber(next);
    setEdits({});
  };
  const kept = number === 1 ? "Nothing is kept: the loop starts again." : `Iterations 1 to ${number - 1} are kept; #${number} runs again.`;
  return (
    <ActionForm label="Fork" command={commands.fork(run.id, at, set, budget_usd, changed)} problem={problem} act={act} onCancel={onClose}>
      <div className="field-row">
        <Field label="Redo from iteration" help={kept}>
          {(id) => (
            <select id={id} value={number} onChange={(event) => choose(Number(event.target.value))}>
              {!iterations.some((one) => one.number === number) && <option value={number}>#{number}</option>}
              {iterations.map((one) => (
                <option key={one.number} value={one.number}>
                  #{one.number}
                  {one.score === null ? "" : ` · score ${scoreWords(one.score, run.target)}`}
                  {markWords(one.number, marked)}
                </option>
              ))}
            </select>
          )}
        </Field>
        <AmountField label="Budget of the new run" unit="dollars" text={budget} onText={setBudget} help={run.budget_usd === null ? "empty: none" : `empty: as before (${budgetWords(run.budget_usd)})`} />
      </div>
      {iterations.some((one) => one.score !== null) && (
        <ScoreCurve scores={scoresBy(iterations)} target={run.target} {...marked} chosen={number} others={others} onChoose={choose} height={96} width={560} />
      )}
      <ValueGroup title={`Values for iteration ${number}`} empty={emptyWords(given)} values={carried} edits={edits} onEdit={setEdits} isOpen />
      <ValueGroup title="Inputs of the run" empty="The workflow has no inputs." values={inputs} edits={edits} onEdit={setEdits} />
      {steps.length > 0 && <StepGroup steps={steps} edits={stepEdits} onEdit={setStepEdits} />}
    </ActionForm>
  );
}

function emptyWords({ error, isLoading }: { error: unknown; isLoading: boolean }): string {
  if (isLoading) return "Loading…";
  return error ? "This iteration has not ended, so its values cannot be changed." : "Nothing is carried into this iteration.";
}

interface ValueGroupProps {
  title: string;
  empty: string;
  values: Record<string, unknown>;
  edits: Edits;
  onEdit: (edits: Edits) => void;
  isOpen?: boolean;
}

function ValueGroup({ title, empty, values, edits, onEdit, isOpen = false }: ValueGroupProps) {
  const names = Object.keys(values);
  return (
    <details open={isOpen} className="value-group">
      <summary>{title}</summary>
      {names.length === 0 && <p className="faint">{empty}</p>}
      {names.map((name) => {
        const before = textOf(values[name]);
        const text = edits[name] ?? before;
        return (
          <ValueField
            key={name}
            name={name}
            type={editedAs(values[name])}
            text={text}
            note={text === before ? "" : "changed"}
            onText={(next) => onEdit({ ...edits, [name]: next })}
          />
        );
      })}
    </details>
  );
}
