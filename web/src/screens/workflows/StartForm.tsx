/** A form made from the typed inputs of a workflow; it starts a run. */
import { useState } from "react";
import type { RunDetail, WorkflowItem } from "../../api";
import { ErrorNotice, Loading } from "../../app/Notice";
import { navigate, runPath } from "../../app/router";
import { useClient, useLoad, useMay } from "../../app/session";
import { ActionForm } from "../../dialogs/ActionForm";
import { commands } from "../../dialogs/commands";
import { amountOf, AmountField, ValueField } from "../../dialogs/fields";
import { fieldsOf, inputsFrom, textsFor, type Texts } from "./inputs";

interface StartFormProps {
  item: WorkflowItem;
  /** The run whose inputs are taken over; "" for none. */
  from: string;
  worst: string;
}

export function StartForm({ item, from, worst }: StartFormProps) {
  const earlier = useLoad(async (client, signal) => (from ? client.run(from, signal) : null), [from]);
  if (earlier.error) return <ErrorNotice error={earlier.error} onRetry={earlier.reload} />;
  if (from && !earlier.value) return <Loading what="the earlier run" />;
  return <Form item={item} worst={worst} earlier={earlier.value} />;
}

function Form({ item, worst, earlier }: { item: WorkflowItem; worst: string; earlier: RunDetail | null }) {
  const client = useClient();
  const [texts, setTexts] = useState<Texts>(() => textsFor(item, earlier?.inputs ?? {}));
  const [budget, setBudget] = useState(earlier?.budget_usd == null ? "" : String(earlier.budget_usd));
  const [most, setMost] = useState("");
  // A press that is sent twice, or again after a lost answer, starts one run.
  const [key] = useState(() => crypto.randomUUID());
  const { why } = useMay("start");
  const usual = useMay("raise limits").why ? "empty: as in the file, and no more than that" : "empty: as in the file";
  const { inputs, problem } = inputsFrom(item, texts);
  const [budget_usd, max_iterations] = [amountOf(budget), amountOf(most)];
  const act = async () => {
    const started = await client.start({
      workflow: item.file,
      named: item.named,
      inputs,
      key,
      ...(budget_usd === undefined ? {} : { budget_usd }),
      ...(max_iterations === undefined ? {} : { max_iterations }),
    });
    navigate(runPath(started.run));
  };
  const command = commands.run({ file: item.file, named: item.named, inputs, budget: budget_usd, iterations: max_iterations });
  return (
    <section className="card workflow-start" aria-label="start a run">
      <h3>{earlier ? `Run it again, with the inputs of ${earlier.id}` : "Start a run"}</h3>
      <ActionForm label="Start" command={command} problem={why || problem} act={act}>
        <fieldset className="start-fields" disabled={why !== ""}>
          {fieldsOf(item).map((field) => (
            <ValueField
              key={field.name}
              name={field.name}
              type={field.type}
              text={texts[field.name] ?? ""}
              isRequired={field.isRequired}
              help={field.help}
              onText={(text) => setTexts({ ...texts, [field.name]: text })}
            />
          ))}
          <div className="field-row">
            <AmountField label="Budget" unit="dollars" text={budget} onText={setBudget} help={usual} />
            <AmountField label="Max iterations" text={most} onText={setMost} help={`of every loop; ${usual}`} />
          </div>
        </fieldset>
        {worst && <p className="help">Worst case: {worst}</p>}
      </ActionForm>
    </section>
  );
}
