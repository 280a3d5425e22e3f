/** The kinds of steps that can be added: dragged, or chosen with Enter. */
import { useState, type CSSProperties } from "react";
import type { Palette as Kinds, PaletteKind } from "../contract";
import { KIND_TYPE } from "../canvas/dragging";
import { Icon } from "../canvas/icons";

interface PaletteProps {
  palette: Kinds;
  isReadOnly: boolean;
  onAdd: (kind: string) => void;
}

export function found(palette: Kinds, search: string): Kinds["groups"] {
  const wanted = search.trim().toLowerCase();
  const fits = ({ kind, title }: PaletteKind) => `${kind} ${title}`.toLowerCase().includes(wanted);
  return palette.groups.map((group) => ({ ...group, kinds: group.kinds.filter(fits) })).filter((group) => group.kinds.length > 0);
}

export function Palette({ palette, isReadOnly, onAdd }: PaletteProps) {
  const [search, setSearch] = useState("");
  return (
    <aside className="edit-palette" aria-label="palette">
      <input type="search" placeholder="find a kind" aria-label="find a kind of step" value={search} onChange={(event) => setSearch(event.target.value)} />
      {found(palette, search).map((group) => (
        <section key={group.title} aria-label={group.title}>
          <h2>{group.title}</h2>
          <ul>
            {group.kinds.map((kind) => (
              <li key={kind.kind}>
                <KindButton kind={kind} isDisabled={isReadOnly} onAdd={onAdd} />
              </li>
            ))}
          </ul>
        </section>
      ))}
    </aside>
  );
}

interface KindButtonProps {
  kind: PaletteKind;
  isDisabled: boolean;
  onAdd: (kind: string) => void;
}

export function KindButton({ kind, isDisabled, onAdd }: KindButtonProps) {
  return (
    <button
      type="button"
      className={`kind-button${kind.colour ? " has-colour" : ""}`}
      style={kind.colour ? ({ "--kind": kind.colour } as CSSProperties) : undefined}
      data-kind={kind.kind}
      disabled={isDisabled}
      draggable={!isDisabled}
      title={kind.needs ? `needs ${kind.needs}` : undefined}
      onDragStart={(event) => {
        event.dataTransfer.setData(KIND_TYPE, kind.kind);
        event.dataTransfer.effectAllowed = "copy";
      }}
      onClick={() => onAdd(kind.kind)}
    >
      <Icon icon={kind.icon} /> {kind.title}
      {kind.needs && (
        <span className="kind-lock">
          <Icon icon="lock" />
          <span className="sr-only">, needs {kind.needs}</span>
        </span>
      )}
    </button>
  );
}
