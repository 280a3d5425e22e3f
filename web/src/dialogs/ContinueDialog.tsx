/** Gives a loop more iterations, more money, or both; or a run without one more tokens and money. */
import { useState } from "react";
import type { RunDetail } from "../api";
import { ErrorNotice, Loading } from "../app/Notice";
import { useClient, useLoad } from "../app/session";
import { budget, dollars } from "../journal/words";
import { ActionForm } from "./ActionForm";
import { commands } from "./commands";
import { amountOf, AmountField } from "./fields";
import { Modal } from "./Modal";
import type { DialogOf } from ".";

interface ContinueProps {
  request: DialogOf<"continue">;
  onClose: () => void;
}

export function ContinueDialog({ request, onClose }: ContinueProps) {
  const run = useLoad((client, signal) => client.run(request.run, signal), [request.run]);
  return (
    <Modal title={request.loop === "" ? "Continue the run" : "Continue the loop"} onClose={onClose}>
      {run.error !== null && <ErrorNotice error={run.error} onRetry={run.reload} />}
      {run.value ? (
        <>
          <ContinueForm
            run={run.value}
            seen={run.value.last_seq}
            {...(request.loop === undefined ? {} : { loop: request.loop })}
            iterations={request.iterations ?? ("money" in request || request.loop === "" ? undefined : 3)}
            money={request.money}
            onCancel={onClose}
            onReload={run.reload}
            onDone={() => {
              request.onDone?.();
              onClose();
            }}
          />
        </>
      ) : (
        !run.error && <Loading what="the run" />
      )}
    </Modal>
  );
}

interface ContinueFormProps {
  run: Pick<RunDetail, "id" | "loop" | "budget_usd" | "cost_usd" | "exit_reason">;
  /** The last entry of the journal that the page knows. */
  seen: number;
  loop?: string;
  iterations?: number | undefined;
  /** More budget, in dollars. */
  money?: number | undefined;
  onCancel?: () => void;
  onReload?: () => void;
  onDone: () => void;
}

/** The form alone: it also stands on the page of a gate. */
export function ContinueForm({ run, seen, loop, iterations, money: wanted, onCancel, onReload, onDone }: ContinueFormProps) {
  const client = useClient();
  const at = loop ?? run.loop ?? "";
  const [more, setMore] = useState(String(iterations ?? ""));
  const [money, setMoney] = useState(String(wanted ?? ""));
  const [count, budget_usd] = [amountOf(more), amountOf(money)];
  const counted = at ? "iterations" : "tokens";
  const hasSome = count !== undefined || budget_usd !== undefined;
  const act = async () => {
    await (at ? client.continue(run.id, { at, iterations: count, budget_usd, seen }) : client.resume(run.id, { tokens: count, budget_usd, seen }));
    onDone();
  };
  const used = run.budget_usd === null ? `${dollars(run.cost_usd)} spent, no budget` : `${dollars(run.cost_usd, run.budget_usd)} of ${budget(run.budget_usd)} spent`;
  return (
    <ActionForm
      label="Continue"
      command={at ? commands.continue(run.id, { loop: at, iterations: count, budget: budget_usd }) : commands.resume(run.id, { tokens: count, budget: budget_usd })}
      problem={hasSome ? "" : `Enter more ${counted}, more budget, or both.`}
      act={act}
      {...(onCancel ? { onCancel } : {})}
      {...(onReload ? { onReload } : {})}
    >
      <div className="field-row">
        <AmountField label={`More ${counted}`} text={more} onText={setMore} />
        <AmountField label="More budget" unit="dollars" text={money} onText={setMoney} help={used} />
      </div>
      {at && (
        <p className="help">
          <code>{at}</code> continues after its last iteration
          {run.exit_reason === "condition_met" && at === run.loop ? "; its condition was already met, so it stops when it is met again" : ""}. Steps after
          the loop run again.
        </p>
      )}
    </ActionForm>
  );
}
