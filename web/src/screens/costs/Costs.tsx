/** What runs cost: by workflow, and by day. */
import type { ScreenProps } from "..";
import type { CostList } from "../../api";
import { useNow } from "../../app/clock";
import { ErrorNotice, Loading } from "../../app/Notice";
import { Link, navigate } from "../../app/router";
import { useLoad } from "../../app/session";
import { useTitle } from "../../app/title";
import { words } from "../../journal";

const DAY_S = 86_400;
const PERIODS: Record<string, string> = { "1": "the last day", "7": "the last 7 days", "30": "the last 30 days", all: "all time" };
const USUAL = "7";

export default function Costs({ query }: ScreenProps) {
  const days = query["days"] ?? USUAL;
  const period = days in PERIODS ? days : USUAL;
  useTitle("Costs");
  return (
    <section className="screen">
      <div className="screen-head">
        <h1>Costs</h1>
        <label>
          <span className="sr-only">Period</span>
          <select aria-label="Period" value={period} onChange={(event) => navigate("/costs", { days: event.target.value === USUAL ? null : event.target.value }, { replace: true })}>
            {Object.entries(PERIODS).map(([key, name]) => (
              <option key={key} value={key}>
                {name}
              </option>
            ))}
          </select>
        </label>
      </div>
      <div className="cost-columns">
        <CostTable by="workflow" days={period} />
        <CostTable by="day" days={period} />
      </div>
    </section>
  );
}

function CostTable({ by, days }: { by: "workflow" | "day"; days: string }) {
  // The hour is what costs are kept by: it need not be asked for more often.
  const now = Math.floor(useNow(true, 60_000) / 3_600) * 3_600;
  const since = days === "all" ? 0 : now - Number(days) * DAY_S;
  const loaded = useLoad((client, signal) => client.costs({ by, since }, signal), [by, since]);
  if (loaded.error) return <ErrorNotice error={loaded.error} onRetry={loaded.reload} />;
  if (!loaded.value) return <Loading what="the costs" />;
  return <CostLines costs={loaded.value} by={by} />;
}

function CostLines({ costs, by }: { costs: CostList; by: "workflow" | "day" }) {
  const most = Math.max(...costs.lines.map((line) => line.cost_usd ?? 0), Number.MIN_VALUE);
  if (costs.lines.length === 0) return <p className="faint">There are no costs by {by} in this period.</p>;
  return (
    <table className="cost-table" aria-label={`costs by ${by}`}>
      <thead>
        <tr>
          <th scope="col">{by === "workflow" ? "Workflow" : "Day (UTC)"}</th>
          <th scope="col" className="number">
            Calls
          </th>
          <th scope="col" className="number">
            Tokens
          </th>
          <th scope="col" className="number">
            Cost
          </th>
        </tr>
      </thead>
      <tbody>
        {costs.lines.map((line) => (
          <tr key={line.name}>
            <td>
              {by === "workflow" ? (
                <Link to="/" query={{ workflow: line.name, sort: "cost" }}>
                  {words.visible(line.name)}
                </Link>
              ) : (
                line.name
              )}
              <span className="cost-bar" aria-hidden="true" style={{ width: `${(100 * (line.cost_usd ?? 0)) / most}%` }} />
            </td>
            <Figures {...line} />
          </tr>
        ))}
        <tr>
          <th scope="row">
            {costs.runs} {costs.runs === 1 ? "run" : "runs"}
            {costs.more ? "; older runs are not counted" : ""}
          </th>
          <Figures {...costs.total} />
        </tr>
      </tbody>
    </table>
  );
}

function Figures({ calls = 0, input_tokens = 0, output_tokens = 0, cost_usd, unpriced_calls = 0 }: Partial<CostList["total"]>) {
  return (
    <>
      <td className="number">{calls}</td>
      <td className="number">{words.tokens(input_tokens + output_tokens)}</td>
      <td className="number">{words.cost({ cost_usd: cost_usd ?? 0, unpriced: unpriced_calls })}</td>
    </>
  );
}
