/** A rule of one's own: conditions with their numbers, the limit, and what is returned. */
import { useId } from "react";
import { words } from "../../journal";
import { leavesOf, leafWords, type Facts, type Leaf, type Rule } from "./answering";
import { addable, dialOf, longestOf, withLeaf, withNumber, without, type Dial } from "./rules";

interface RuleEditorProps {
  facts: Facts;
  rule: Rule;
  onRule: (rule: Rule) => void;
}

export function RuleEditor({ facts, rule, onRule }: RuleEditorProps) {
  const more = addable(facts, rule);
  const shown = leavesOf(rule.until).filter((leaf) => leaf.kind !== "score" || leaf.at_least != null);
  return (
    <div className="asking" role="group" aria-label="ask for a rule">
      <strong>What if</strong>
      {shown.map((leaf, index) => (
        <Part key={`${leaf.kind} ${leaf.atom ?? ""} ${index}`} leaf={leaf} dial={dialOf(facts, leaf)} onNumber={(dial, value) => onRule(withNumber(rule, leaf, dial, value))} onDrop={() => onRule(without(rule, leaf))} />
      ))}
      {more.length > 0 && (
        <label>
          or if{" "}
          <select value="" onChange={(event) => onRule(withLeaf(rule, more[Number(event.target.value)] as Leaf))}>
            <option value="">add a condition</option>
            {more.map((leaf, index) => (
              <option key={index} value={index}>
                {words.visible(nameOf(leaf))}
              </option>
            ))}
          </select>
        </label>
      )}
      <Slider label="at most" value={rule.at_most} min={1} max={Math.max(rule.at_most, longestOf(facts))} step={1} onValue={(at_most) => onRule({ ...rule, at_most })} />
      <label>
        return{" "}
        <select value={rule.return} onChange={(event) => onRule({ ...rule, return: event.target.value })}>
          {["last", "best", "first"].map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </label>
    </div>
  );
}

const nameOf = (leaf: Leaf): string => (leaf.kind === "judge" ? `judge: ${leaf.words}` : leafWords(leaf));

interface PartProps {
  leaf: Leaf;
  dial: Dial | null;
  onNumber: (dial: Dial, value: number) => void;
  onDrop: () => void;
}

function Part({ leaf, dial, onNumber, onDrop }: PartProps) {
  const name = words.visible(nameOf(leaf));
  return (
    <span className="rule-part">
      {dial ? (
        <Slider label={leaf.kind === "judge" ? `${words.visible(leaf.words)} ${dial.label}` : dial.label} value={leaf[dial.field] ?? dial.min} min={dial.min} max={dial.max} step={dial.step} onValue={(value) => onNumber(dial, value)} />
      ) : (
        <code>{name}</code>
      )}
      <button type="button" className="button button-quiet" aria-label={`without ${name}`} onClick={onDrop}>
        ×
      </button>
    </span>
  );
}

interface SliderProps {
  label: string;
  value: number;
  min: number;
  max: number;
  step: number;
  onValue: (value: number) => void;
}

function Slider({ label, value, min, max, step, onValue }: SliderProps) {
  const id = useId();
  return (
    <span className="rule-slider">
      <label htmlFor={id}>{label}</label> <span className="figure">{step < 1 ? value.toFixed(2) : value}</span>
      <input id={id} type="range" min={min} max={max} step={step} value={value} onChange={(event) => onValue(Number(event.target.value))} />
    </span>
  );
}
