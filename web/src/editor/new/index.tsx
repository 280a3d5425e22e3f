/** New: a file from a template, an empty one, a copy, or a native copy of a file of another dialect. */
import { useState } from "react";
import type { WorkflowItem } from "../../api";
import { ErrorNotice, Loading } from "../../app/Notice";
import { useClient, useLoad } from "../../app/session";
import { ActionForm } from "../../dialogs/ActionForm";
import { Field } from "../../dialogs/fields";
import { Modal } from "../../dialogs/Modal";
import { ask, send } from "../inspector/calls";
import { commandOf, freeName, problemOf, requestOf, wantedName, type Beginning, type Listed } from "./choices";

interface NewDialogProps {
  /** The file that was made. */
  onMade: (file: string) => void;
  onClose: () => void;
}

export function NewDialog({ onMade, onClose }: NewDialogProps) {
  const loaded = useLoad(async (client, signal) => {
    const [listed, workflows] = await Promise.all([ask<Listed>(client, "/api/templates"), client.workflows(signal)]);
    return { listed, workflows: workflows.workflows };
  }, []);
  return (
    <Modal title="New workflow" onClose={onClose}>
      {loaded.error !== null && <ErrorNotice error={loaded.error} onRetry={loaded.reload} />}
      {!loaded.value && loaded.error === null && <Loading what="the templates" />}
      {loaded.value && <NewForm {...loaded.value} onMade={onMade} onClose={onClose} />}
    </Modal>
  );
}

interface NewFormProps extends NewDialogProps {
  listed: Listed;
  workflows: WorkflowItem[];
}

function NewForm({ listed, workflows, onMade, onClose }: NewFormProps) {
  const client = useClient();
  const [beginning, setBeginning] = useState<Beginning>(() => first(listed));
  const [typed, setTyped] = useState<string | null>(null);
  const taken = workflows.map((one) => one.file);
  const file = typed ?? freeName(wantedName(beginning), taken);
  const act = async () => {
    const made = await send<{ file: string }>(client, "POST", "/api/workflows", { file, ...requestOf(beginning) });
    onMade(made.file);
  };
  return (
    <ActionForm label="Create" command={commandOf(beginning, file)} problem={problemOf(file, beginning, taken)} act={act} onCancel={onClose}>
      <Beginnings listed={listed} workflows={workflows} beginning={beginning} onBeginning={setBeginning} />
      <Field label="File" help="in an existing folder of the project">
        {(id) => <input id={id} value={file} onChange={(event) => setTyped(event.target.value)} />}
      </Field>
    </ActionForm>
  );
}

function first({ templates, empty }: Listed): Beginning {
  const [template] = templates;
  return template ? { from: "template", name: template.name, dialect: template.dialects[0] ?? "native" } : { from: "empty", dialect: empty[0] ?? "native" };
}

interface BeginningsProps {
  listed: Listed;
  workflows: WorkflowItem[];
  beginning: Beginning;
  onBeginning: (beginning: Beginning) => void;
}

function Beginnings({ listed, workflows, beginning, onBeginning }: BeginningsProps) {
  const others = workflows.filter((one) => one.dialect && one.dialect !== "native" && one.errors === 0);
  const option = (choice: Beginning, title: string, description: string, badge: string, needs = "") => (
    <label key={`${choice.from} ${title} ${badge}`} className="new-choice">
      <input type="radio" name="beginning" checked={isSame(beginning, choice)} onChange={() => onBeginning(choice)} />
      <span className="new-words">
        <span className="new-title">{title}</span> {badge && <span className="badge tone-idle">{badge}</span>}
        {description && <span className="new-description">{description}</span>}
        {needs && <span className="new-description faint">needs {needs}</span>}
      </span>
    </label>
  );
  return (
    <>
      <fieldset className="new-choices">
        <legend>From a template</legend>
        {listed.templates.flatMap((one) => one.dialects.map((dialect) => option({ from: "template", name: one.name, dialect }, one.name, one.description, dialect, one.needs)))}
      </fieldset>
      <fieldset className="new-choices">
        <legend>Empty</legend>
        {listed.empty.map((dialect) => option({ from: "empty", dialect }, "Empty", "", dialect))}
      </fieldset>
      {workflows.length > 0 && (
        <FileChoice legend="Copy of" isChosen={beginning.from === "copy"} files={workflows.map((one) => one.file)} file={beginning.from === "copy" ? beginning.file : ""} onFile={(file) => onBeginning({ from: "copy", file })} />
      )}
      {others.length > 0 && (
        <FileChoice
          legend="From another format, as a native copy"
          isChosen={beginning.from === "convert"}
          files={others.map((one) => one.file)}
          file={beginning.from === "convert" ? beginning.file : ""}
          onFile={(file) => onBeginning({ from: "convert", file })}
        />
      )}
    </>
  );
}

const isSame = (one: Beginning, other: Beginning): boolean => JSON.stringify(one) === JSON.stringify(other);

interface FileChoiceProps {
  legend: string;
  isChosen: boolean;
  files: string[];
  file: string;
  onFile: (file: string) => void;
}

function FileChoice({ legend, isChosen, files, file, onFile }: FileChoiceProps) {
  return (
    <fieldset className="new-choices">
      <legend>{legend}</legend>
      <label className="new-choice">
        <input type="radio" name="beginning" aria-label={legend} checked={isChosen} onChange={() => onFile(files[0] ?? "")} />
        <select aria-label={`${legend}: file`} value={file} onChange={(event) => onFile(event.target.value)}>
          {!isChosen && <option value="">choose a file</option>}
          {files.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </label>
    </fieldset>
  );
}
