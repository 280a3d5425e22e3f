/** A text in which names of other steps can be read: `{{` opens the list of those that are known there. */
import { useContext, useId, useRef, useState, type KeyboardEvent } from "react";
import { textOf } from "../../../app/values";
import { Field } from "../../../dialogs/fields";
import { visible } from "../../../journal/words";
import type { Name } from "../calls";
import { NamesContext } from "./names";
import { matching, openedAt, taken, type Opens } from "./completion";
import { useDraft } from "./useDraft";
import type { WidgetProps } from "./Widgets";

interface NamesFieldProps extends WidgetProps {
  at: string;
  /** Whether names are asked for between braces, or anywhere, as in an expression. */
  opens: Opens;
  isRequired?: boolean;
}

const LINES_MAX = 24;
const SHOWN_MAX = 12;

export function NamesField({ label, help, value, usual = "", onValue, at, opens, isRequired = false }: NamesFieldProps) {
  const draft = useDraft(textOf(value), (text) => onValue(text === "" && !isRequired ? undefined : text));
  const names = useNames(at);
  const field = useRef<HTMLTextAreaElement>(null);
  const [caret, setCaret] = useState<number | null>(null);
  const [chosen, choose] = useState(0);
  const listId = useId();
  const open = caret === null ? null : openedAt(draft.text, caret, opens);
  const found = open ? matching(names.known, open.typed).slice(0, SHOWN_MAX) : [];
  const isOpen = found.length > 0;
  const look = () => {
    const place = field.current?.selectionStart ?? null;
    setCaret(place);
    choose(0);
    if (place !== null && openedAt(field.current?.value ?? "", place, opens)) names.load();
  };
  const take = (name: Name) => {
    if (!open || caret === null) return;
    const next = taken(draft.text, caret, open, name.name, opens);
    draft.change(next.text);
    setCaret(null);
    requestAnimationFrame(() => field.current?.setSelectionRange(next.caret, next.caret));
  };
  const press = (event: KeyboardEvent) => {
    if (!isOpen) {
      if (event.key === "Enter" && opens === "words") {
        event.preventDefault();
        draft.flush();
      }
      return;
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const name = found[chosen];
    if (step) choose((chosen + step + found.length) % found.length);
    else if (event.key === "Escape") setCaret(null);
    else if ((event.key === "Enter" || event.key === "Tab") && name) take(name);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const optionId = (index: number) => `${listId}-${index}`;
  return (
    <Field label={label} help={help}>
      {(id) => (
        <div className="names-field">
          <textarea
            ref={field}
            id={id}
            className="mono"
            spellCheck={opens === "braces"}
            rows={Math.min(LINES_MAX, draft.text.split("\n").length + (opens === "braces" ? 1 : 0))}
            value={draft.text}
            placeholder={usual}
            aria-invalid={draft.isRefused}
            aria-autocomplete="list"
            {...(isOpen ? { "aria-controls": listId, "aria-activedescendant": optionId(chosen) } : {})}
            onChange={(event) => {
              draft.change(event.target.value);
              look();
            }}
            onBlur={() => {
              setCaret(null);
              draft.flush();
            }}
            onKeyDown={press}
          />
          {isOpen && (
            <ul className="names" id={listId} role="listbox" aria-label="names that are known here">
              {found.map((name, index) => (
                <li
                  key={name.name}
                  id={optionId(index)}
                  role="option"
                  aria-selected={index === chosen}
                  onMouseDown={(event) => {
                    event.preventDefault();
                    take(name);
                  }}
                >
                  <code>{name.name}</code> <span className="faint">{name.type}</span>
                  {name.value !== undefined && name.value !== null && <span className="faint names-value">{visible(textOf(name.value)).slice(0, 60)}</span>}
                </li>
              ))}
            </ul>
          )}
        </div>
      )}
    </Field>
  );
}

function useNames(at: string): { known: readonly Name[]; load: () => void } {
  const asked = useContext(NamesContext);
  return { known: asked.names(at), load: () => asked.load(at) };
}
