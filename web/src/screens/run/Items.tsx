/** The items of a list, each with what it was given and how it ended; choosing one shows its steps. */
import { chooseIteration, useJournal, useRunStore, useRunView } from "../../app/run";
import { textOf } from "../../app/values";
import { lookOf, VirtualTable, type Column } from "../../charts";
import { iterationAddress, usageFrom, words, type Json } from "../../journal";
import type { RecordItem } from "../../api";

const ROW = 28;
const ROWS_MAX = 10;
const ITEMS_MAX = 1_000;
const TEXT_MAX = 200;

export function Items({ address }: { address: string }) {
  const store = useRunStore();
  const records = useRunView((view) => view.records);
  const chosen = useRunView((view) => view.chosen[address]);
  const count = useJournal((journal) => journal.items.get(address) ?? 0, [address]);
  const rows = Array.from({ length: Math.min(count, ITEMS_MAX) }, (_, index) => records.get(iterationAddress(address, index + 1))).filter((row) => row !== undefined);
  if (rows.length === 0) return null;
  return (
    <section className="drawer-part" aria-label="items">
      <h3>Items</h3>
      <VirtualTable
        label="items of the list"
        rows={rows}
        columns={COLUMNS}
        rowKey={(row) => row.number ?? 0}
        rowHeight={ROW}
        height={ROW * Math.min(rows.length, ROWS_MAX) + 32}
        selectedKey={chosen ?? null}
        onSelect={(row) => chooseIteration(store, address, row.number ?? 1)}
      />
      {count > ITEMS_MAX && <p className="faint">The first {ITEMS_MAX} of {count}.</p>}
    </section>
  );
}

const COLUMNS: Column<RecordItem>[] = [
  { key: "number", head: "#", isNumber: true, cell: (row) => row.number, width: "48px" },
  { key: "status", head: "status", cell: (row) => `${lookOf(row.status).glyph} ${lookOf(row.status).word}`, width: "110px" },
  { key: "given", head: "given", cell: (row) => short(Object.values((row.inputs ?? {}) as object)[0]) },
  { key: "time", head: "time", isNumber: true, cell: (row) => (row.seconds === null ? "…" : row.seconds > 0 ? words.duration(row.seconds) : ""), width: "60px" },
  { key: "cost", head: "cost", isNumber: true, cell: (row) => words.cost(usageFrom(row.usage as Json)), width: "70px" },
];

const short = (value: unknown): string => words.visible(textOf(value).slice(0, TEXT_MAX));
