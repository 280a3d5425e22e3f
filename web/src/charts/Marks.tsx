/** The two marks of iterations: ★ the best one, ↩ the one whose result the loop has given. */

export function BestMark() {
  return (
    <span className="best" title="best">
      <span aria-hidden="true">★</span>
      <span className="sr-only">best</span>
    </span>
  );
}

export function ReturnedMark() {
  return (
    <span className="returned" title="returned">
      <span aria-hidden="true">↩</span>
      <span className="sr-only">returned</span>
    </span>
  );
}

/** The same in a list of choices, where only text can stand. */
export function markWords(number: number, { best, returned }: { best: number | null; returned: number | null }): string {
  return [number === best ? " ★ best" : "", number === returned ? " ↩ returned" : ""].join("");
}
