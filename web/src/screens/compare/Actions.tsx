/** What can be done after comparing: take one of the two, go on, or try another way. */
import { navigate, runPath } from "../../app/router";
import { useLoad } from "../../app/session";
import { openDialog } from "../../dialogs";

interface ActionsProps {
  run: string;
  loop: string;
  /** Those of this run that are looked at; the last one is what others begin with. */
  numbers: readonly number[];
}

export function Actions({ run, loop, numbers }: ActionsProps) {
  const detail = useLoad((client, signal) => client.run(run, signal), [run]);
  const can = detail.value?.can ?? [];
  const last = numbers.at(-1) ?? 1;
  const onDone = () => navigate(runPath(run));
  return (
    <div className="action-row compare-actions" role="group" aria-label="actions">
      {can.includes("accept") &&
        [...new Set(numbers)].map((iteration) => (
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
        <button type="button" className="button" onClick={() => openDialog({ kind: "fork", run, loop, iteration: last })}>
          Fork from #{last}…
        </button>
      )}
    </div>
  );
}
