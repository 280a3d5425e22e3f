/** One experiment: how far it is, its variants and cases, other rules, the judge, and what people grade. */
import { useEffect, useState } from "react";
import type { ScreenProps } from "..";
import { followExperiment, type ExperimentDetail } from "../../api";
import { ErrorNotice, errorWords, Loading } from "../../app/Notice";
import { Link } from "../../app/router";
import { useClient, useLoad, useMay } from "../../app/session";
import { useTitle } from "../../app/title";
import { Meter } from "../../charts";
import { quoted } from "../../dialogs/commands";
import { words } from "../../journal";
import { countWords } from "./documents";
import { Grade } from "./Grade";
import { Judge } from "./Judge";
import { experimentPath } from "./List";
import { StateBadge } from "./StateBadge";
import { Variants } from "./Variants";
import { WhatIf } from "./WhatIf";

const TABS = { compare: "Compare", "what-if": "What if", judge: "Judge", grade: "Grade" } as const;

type Tab = keyof typeof TABS;

const tabFrom = (text: string | undefined): Tab => (text !== undefined && text in TABS ? (text as Tab) : "compare");

export default function Experiment({ values, query }: ScreenProps) {
  const name = values["name"] ?? "";
  const first = useLoad((client, signal) => client.experiment(name, signal), [name]);
  const client = useClient();
  const [told, setTold] = useState<ExperimentDetail | null>(null);
  useEffect(() => followExperiment(client, name, setTold).close, [client, name]);
  useTitle(`${name} experiment`);
  if (first.error) return <ErrorNotice error={first.error} isPage onRetry={first.reload} />;
  const detail = told?.name === name ? told : first.value;
  if (!detail) return <Loading what="the experiment" />;
  const tab = tabFrom(query["tab"]);
  return (
    <section className="screen screen-experiment">
      <Head detail={detail} />
      <nav className="tabs" aria-label="views of the experiment">
        {(Object.keys(TABS) as Tab[]).map((one) => (
          <Link key={one} to={experimentPath(name)} query={one === "compare" ? {} : { tab: one }} className="tab" aria-current={one === tab ? "page" : undefined}>
            {TABS[one]}
            {one === "grade" && detail.people > 0 && ` (${detail.people})`}
          </Link>
        ))}
      </nav>
      {tab === "compare" && <Variants detail={detail} />}
      {tab === "what-if" && <WhatIf detail={detail} />}
      {tab === "judge" && <Judge detail={detail} />}
      {tab === "grade" && <Grade detail={detail} />}
    </section>
  );
}

function Head({ detail }: { detail: ExperimentDetail }) {
  const client = useClient();
  const [failed, setFailed] = useState<{ error: unknown; state: string } | null>(null);
  const act = (call: () => Promise<unknown>) => {
    setFailed(null);
    call().catch((error: unknown) => setFailed({ error, state: detail.state }));
  };
  // What was refused is of no interest any more once the experiment has got on.
  const error = failed?.state === detail.state ? failed.error : null;
  const isRunning = detail.state === "running";
  const { file } = detail;
  const [stop, start] = [useMay("stop experiment"), useMay("run experiment")];
  return (
    <>
      <header className="screen-head">
        <h1>{words.visible(detail.name)}</h1>
        <StateBadge state={detail.state} />
        <span className="faint">
          {countWords(detail.cases ?? 0, "case")} × {countWords(detail.variants?.length ?? 0, "variant")} · {detail.done} of {countWords(detail.trials ?? 0, "trial")}
          {detail.running ? `, ${detail.running} running` : ""}
        </span>
        <Meter label="spent" value={detail.spent_usd} max={detail.budget_usd ?? null} format={words.dollars} formatMax={words.budget} />
        {isRunning && (
          <button type="button" className="button" disabled={!stop.may} title={stop.why || `whorl experiment stop ${quoted(detail.name)}`} onClick={() => act(() => client.stopExperiment(detail.name))}>
            Stop
          </button>
        )}
        {!isRunning && detail.state !== "done" && file && (
          <button type="button" className="button button-main" disabled={!start.may} title={start.why || `whorl experiment run ${quoted(file)}`} onClick={() => act(() => client.runExperiment(file))}>
            {detail.done === 0 ? "Run" : "Continue"}
          </button>
        )}
      </header>
      {error !== null && (
        <p className="problem" role="alert">
          <span aria-hidden="true">✗</span> {words.visible(errorWords(error).message)}
        </p>
      )}
      {detail.reason && <p className="problem">{words.visible(detail.reason)}</p>}
      {isRunning && <Progress detail={detail} />}
    </>
  );
}

function Progress({ detail }: { detail: ExperimentDetail }) {
  return (
    <ul className="experiment-progress" aria-label="progress of each variant">
      {detail.progress.map((one) => (
        <li key={one.name}>
          <Meter label={one.name} value={one.done} max={one.trials} format={(count) => String(count)} /> {words.visible(one.name)}
        </li>
      ))}
    </ul>
  );
}
