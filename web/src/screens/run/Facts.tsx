/** The conditions of a loop as they stood at the end of an iteration, with the reasons of judges. */
import { words, type Fact, type Iteration } from "../../journal";

export function Facts({ iteration }: { iteration: Iteration }) {
  if (iteration.facts.length === 0) return null;
  return (
    <ul className="facts">
      {iteration.facts.map((fact, index) => (
        <li key={index} className={fact.met ? "fact-met" : ""}>
          <span aria-hidden="true">{fact.met ? "✓" : fact.met === false ? "✗" : "?"}</span>
          <span className="sr-only">{fact.met ? "met: " : fact.met === false ? "not met: " : "not clear: "}</span>
          <div>
            <span>{words.visible(factText(fact))}</span>
            {fact.evidence && (
              <blockquote className="evidence" aria-label="quoted evidence">
                {words.visible(fact.evidence)}
              </blockquote>
            )}
          </div>
        </li>
      ))}
    </ul>
  );
}

/** A judge's question belongs to its answer. */
function factText(fact: Fact): string {
  return fact.question ? `${words.factWords(fact)} — ${fact.question}` : words.factWords(fact);
}
