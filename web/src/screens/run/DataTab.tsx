/** What the run was given and what came of it, with the file it ran. */
import { useState } from "react";
import type { RunDetail } from "../../api";
import { Loading } from "../../app/Notice";
import { Link, runPath } from "../../app/router";
import { useRunState } from "../../app/run";
import { useLoad } from "../../app/session";
import { Value } from "../../app/Value";
import { isObject, words, type Json } from "../../journal";

export function DataTab({ id, detail }: { id: string; detail: RunDetail | null }) {
  const run = useRunState();
  const outputs = run.outputs ?? (detail?.result.outputs as Json | undefined) ?? null;
  const defaults = (detail?.defaults ?? {}) as Json;
  const hasMany = isObject(outputs) && Object.keys(outputs).length > 0;
  return (
    <div className="data-tab">
      <section aria-label="inputs">
        <h2>Inputs</h2>
        {(!isEmpty(run.input) || isEmpty(defaults)) && <Value run={id} value={isEmpty(run.input) ? null : run.input} empty="The run has no inputs." />}
        {!isEmpty(defaults) && (
          <>
            <h3>Not given: the defaults of the file</h3>
            <Value run={id} value={defaults} />
          </>
        )}
      </section>
      <section aria-label="outputs">
        <h2>Outputs</h2>
        <Value run={id} value={hasMany ? outputs : run.output} empty="There are no outputs yet." />
      </section>
      <section aria-label="about the run">
        <h2>About</h2>
        {detail ? <About detail={detail} /> : <Loading what="the run" />}
      </section>
      <SourceFiles id={id} />
    </div>
  );
}

const isEmpty = (value: Json): boolean => value === null || (isObject(value) && Object.keys(value).length === 0);

function About({ detail }: { detail: RunDetail }) {
  const facts: [string, React.ReactNode][] = [
    ["file", <code key="file">{words.visible(detail.file)}</code>],
    ["format", detail.dialect],
    ["started", new Date(detail.created_at * 1_000).toLocaleString()],
    ["calls", <span key="calls" className="figure">{detail.calls}</span>],
    ["driven", { here: "by this server", elsewhere: "by another process", nobody: "by no process" }[detail.driver]],
  ];
  if (detail.parent) facts.push(["fork of", <Link key="parent" to={runPath(detail.parent)}>{detail.parent}</Link>]);
  if (detail.forks.length) facts.push(["forks", detail.forks.map((fork) => <Link key={fork} to={runPath(fork)} className="fork-link">{fork}</Link>)]);
  facts.push(["in a terminal", <code key="cli">whorl show {detail.id}</code>]);
  return (
    <dl className="fields">
      {facts.map(([name, value]) => (
        <div key={name} className="field field-short">
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function SourceFiles({ id }: { id: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details className="source" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>The workflow as it was when the run began</summary>
      {isOpen && <Source id={id} />}
    </details>
  );
}

function Source({ id }: { id: string }) {
  const source = useLoad((client, signal) => client.source(id, signal), [id]);
  if (source.error) return <p className="problem">It cannot be loaded.</p>;
  if (!source.value) return <p className="faint">Loading…</p>;
  return Object.entries(source.value.files).map(([name, text]) => (
    <section key={name}>
      <h3 className="mono">{words.visible(name)}</h3>
      <pre className="value" tabIndex={0}>{words.visible(text)}</pre>
    </section>
  ));
}
