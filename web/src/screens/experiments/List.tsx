/** The experiments of the project: how far each is, what it cost, and which variant is best. */
import type { ScreenProps } from "..";
import type { ExperimentItem } from "../../api";
import { useNow } from "../../app/clock";
import { Empty, ErrorNotice, Loading } from "../../app/Notice";
import { Link } from "../../app/router";
import { useLoad } from "../../app/session";
import { useTitle } from "../../app/title";
import { Meter } from "../../charts";
import { words } from "../../journal";
import { gradeWords } from "./documents";
import { StateBadge } from "./StateBadge";

const LOOK_MS = 5_000;

export const experimentPath = (name: string): string => `/experiments/${encodeURIComponent(name)}`;

export default function List(_: ScreenProps) {
  useTitle("Experiments");
  const turn = Math.floor((useNow(true, LOOK_MS) * 1_000) / LOOK_MS);
  const list = useLoad((client, signal) => client.experiments(signal), [], [turn]);
  if (list.error) return <ErrorNotice error={list.error} isPage onRetry={list.reload} />;
  if (!list.value) return <Loading what="the experiments" />;
  if (list.value.length === 0) {
    return (
      <Empty title="No experiments yet" isPage>
        <p>
          An experiment runs a workflow over cases and variants: does iterating help, and which rule stops best? Write <code>NAME.experiment.yaml</code>.
        </p>
      </Empty>
    );
  }
  return (
    <section className="screen">
      <h1>Experiments</h1>
      <div className="table-frame" tabIndex={0} role="region" aria-label="experiments">
        <table className="table">
          <thead>
            <tr>
              {["State", "Experiment", "Cases × variants", "Trials", "Spent", "Best", "Changed"].map((head) => (
                <th key={head} scope="col">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {list.value.map((one) => (
              <Row key={one.name} item={one} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Row({ item }: { item: ExperimentItem }) {
  const now = useNow(item.updated_at !== null, 30_000);
  return (
    <tr>
      <td>
        <StateBadge state={item.state} />
      </td>
      <td>
        <Link to={experimentPath(item.name)} className="strong">
          {words.visible(item.name)}
        </Link>
        {item.trouble && <span className="problem"> {words.visible(item.trouble)}</span>}
      </td>
      <td className="figure">
        {item.cases} × {item.variants?.length ?? 0}
      </td>
      <td className="figure">
        {item.done} of {item.trials}
      </td>
      <td>
        <Meter label="spent" value={item.spent_usd} max={item.budget_usd ?? null} format={words.dollars} formatMax={words.budget} />
      </td>
      <td>{bestWords(item)}</td>
      <td className="figure">{item.updated_at == null ? "–" : `${words.age(now - item.updated_at)} ago`}</td>
    </tr>
  );
}

function bestWords({ best }: ExperimentItem): string {
  if (!best) return "–";
  const difference = best.difference?.value;
  const more = difference == null ? "" : ` (${difference > 0 ? "+" : ""}${difference.toFixed(2)}${best.words ? `, ${best.words}` : ""})`;
  return `${words.visible(best.variant)} ${gradeWords(best.grade.value)}${more}`;
}
