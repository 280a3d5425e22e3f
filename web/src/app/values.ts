/** JSON values as text that a person reads and edits, and back. */

/** How a value is shown: text as it is, everything else as JSON. */
export function textOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

export type Parsed = { value: unknown; problem?: undefined } | { value?: undefined; problem: string };

/** What was typed, as a value of a type of inputs; empty text is "nothing given". */
export function parsedAs(type: string, text: string): Parsed {
  switch (type) {
    case "string":
    case "file":
    case "secret":
      return { value: text };
    case "any":
      return { value: parsedJson(type, text).value ?? text };
    case "number":
    case "integer":
      return parsedNumber(type, text);
    case "boolean":
      return { value: text === "true" };
    default:
      return parsedJson(type, text);
  }
}

function parsedNumber(type: string, text: string): Parsed {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value)) return { problem: "this is not a number" };
  return type === "integer" && !Number.isInteger(value) ? { problem: "this is not a whole number" } : { value };
}

function parsedJson(type: string, text: string): Parsed {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (fault) {
    return { problem: fault instanceof Error ? `this is not JSON: ${fault.message}` : "this is not JSON" };
  }
  if ((type === "list" || type === "files") && !Array.isArray(value)) return { problem: "this is not a list, such as [1, 2]" };
  return { value };
}

/** The type under which a value that is there already is edited. */
export function editedAs(value: unknown): string {
  return typeof value === "string" ? "string" : "json";
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
