/** What changed when: results of steps by iterations; a cell opens its difference. */
import type { Matrix as MatrixItem } from "../../api";

interface MatrixProps {
  matrix: MatrixItem;
  one: number;
  other: number;
  node: string;
  onPick: (one: number, other: number, node: string) => void;
}

const CELLS: Record<string, [glyph: string, words: string]> = {
  new: ["■", "new"],
  small: ["▨", "small change"],
  same: ["□", "same"],
  none: ["·", "no result"],
};

export function Matrix({ matrix, one, other, node, onPick }: MatrixProps) {
  return (
    <section className="matrix-section" aria-label="changes by iteration">
      <div className="screen-head">
        <h2>What changed when</h2>
        <p className="legend faint">
          {Object.entries(CELLS).map(([name, [glyph, text]]) => (
            <span key={name}>
              <span aria-hidden="true" className={`cell-${name}`}>
                {glyph}
              </span>{" "}
              {text}
            </span>
          ))}
        </p>
      </div>
      <div className="matrix-frame" tabIndex={0} role="region" aria-label="table of changes">
        <table className="matrix">
          <thead>
            <tr>
              <th scope="col">result</th>
              {matrix.iterations.map((row) => (
                <th key={row.number} scope="col" className={row.number === one || row.number === other ? "is-chosen" : ""}>
                  {row.number}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {matrix.steps.map((name) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                {matrix.iterations.map((row, index) => {
                  const before = matrix.iterations[index - 1];
                  const kind = row.cells[name] ?? "none";
                  const [glyph, text] = CELLS[kind] ?? CELLS["none"]!;
                  const isChosen = row.number === other && before?.number === one && node.split(".")[0] === name;
                  return (
                    <td key={row.number}>
                      {before ? (
                        <button
                          type="button"
                          className={`cell cell-${kind}`}
                          aria-pressed={isChosen}
                          aria-label={`${name}, iteration ${row.number}: ${text}`}
                          title={`${name} #${before.number} → #${row.number}: ${text}`}
                          onClick={() => onPick(before.number, row.number, name)}
                        >
                          {glyph}
                        </button>
                      ) : (
                        <span className={`cell cell-${kind}`} title={text}>
                          <span aria-hidden="true">{glyph}</span>
                          <span className="sr-only">{text}</span>
                        </span>
                      )}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
