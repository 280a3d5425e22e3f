/** Data as a tree: its first levels are open, the rest opens when somebody looks. */
import { useState } from "react";
import { isObject, type Json } from "../journal";
import { visible } from "../journal/words";

const OPEN_LEVELS = 2;
const ENTRIES_MAX = 100;

export function JsonTree({ value, name = "", depth = 0 }: { value: Json; name?: string; depth?: number }) {
  const [isOpen, setOpen] = useState(depth < OPEN_LEVELS);
  const [most, setMost] = useState(ENTRIES_MAX);
  const label = name && <span className="json-name">{visible(name)}: </span>;
  if (!isObject(value) && !Array.isArray(value)) {
    return (
      <div className="json-leaf">
        {label}
        <span className={`json-${value === null ? "null" : typeof value}`}>{visible(JSON.stringify(value))}</span>
      </div>
    );
  }
  const entries: [string, Json][] = Array.isArray(value) ? value.map((one, index) => [String(index), one]) : Object.entries(value);
  const words = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
  return (
    <details className="json-node" open={isOpen} onToggle={(event) => event.target === event.currentTarget && setOpen(event.currentTarget.open)}>
      <summary>
        {label}
        <span className="faint">{words}</span>
      </summary>
      {isOpen && entries.slice(0, most).map(([key, one]) => <JsonTree key={key} name={key} value={one} depth={depth + 1} />)}
      {isOpen && entries.length > most && (
        <button type="button" className="button button-small" onClick={() => setMost(most * 10)}>
          {entries.length - most} more
        </button>
      )}
    </details>
  );
}
