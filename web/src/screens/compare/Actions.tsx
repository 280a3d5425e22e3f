/** What can be done after comparing: take one of the two, go on, or try another way. */
import { navigate, runPath } from "../../app/router";
import { useLoad } from "../../app/session";
import { openDialog } from "../../dialogs";

interface ActionsProps {
  run: string;
  loop: string;
  one: number;
  other: number;
}

export function Actions({ run, loop, one, other }: ActionsProps) {
  const detail = useLoad((client, signal) => client.run(run, signal), [run]);
  const can = detail.value?.can ?? [];
  const numbers = one === other ? [one] : [one, other];
  const onDone = () => navigate(runPath(run));
  return (
    <div className="action-row compare-actions" role="group" aria-label="actions">
      {can.includes("accept") &&
        numbers.map((iteration) => (
          <button key={iteration} type="button" className="button" onClick={() => openDialog({ kind: "accept", run, loop, iteration, onDone })}>
            Accept #{iteration}
          </button>
        ))}
      {can.includes("continue") && (
        <button type="button" className="button" onClick={() => openDialog({ kind: "continue", run, loop, onDone })}>
          Continue…
        </button>
      )}
      {can.includes("fork") && (
        <button type="button" className="button" onClick={() => openDialog({ kind: "fork", run, loop, iteration: other })}>
          Fork from #{other}…
        </button>
      )}
    </div>
  );
}
