/** Addresses: `polish[3]/review#2` is the second attempt of `review` in iteration 3 of `polish`. */

const ATTEMPT = /#(\d+)/g;
const TRAILING_ATTEMPT = /#(\d+)$/;
const TRAILING_ITERATION = /\[(\d+)\](?:#\d+)?$/;
const NUMBERS = /\[\d+\]|#\d+/g;

/** The address without any attempt: the place at which all attempts of a node meet. */
export function placeOf(address: string): string {
  return address.includes("#") ? address.replace(ATTEMPT, "") : address;
}

/** The number of the attempt, counted from 1. */
export function attemptOf(address: string): number {
  const found = TRAILING_ATTEMPT.exec(address);
  return found ? Number(found[1]) : 1;
}

/** The node's path in the workflow: the address without iterations and attempts. */
export function pathOf(address: string): string {
  return address.replace(NUMBERS, "");
}

/** `outer[1]/inner[3]` is iteration 3 of loop `outer[1]/inner`; null for what is no iteration. */
export function splitIteration(address: string): { loop: string; number: number } | null {
  const found = TRAILING_ITERATION.exec(address);
  return found ? { loop: placeOf(address.slice(0, found.index)), number: Number(found[1]) } : null;
}

/** The address of an iteration, counted from 1. */
export function iterationAddress(loop: string, number: number): string {
  return `${loop}[${number}]`;
}

/** The innermost iteration that a place is in: `a[1]/b[2]` for `a[1]/b[2]/group/c`, "" for the run. */
export function scopeOf(place: string): string {
  const slash = place.lastIndexOf("]/");
  return slash < 0 ? "" : place.slice(0, slash + 1);
}

/** The name of what an address names: `review` for `polish[3]/review#2`. */
export function nameOf(address: string): string {
  const tail = address.slice(address.lastIndexOf("/") + 1).replace(NUMBERS, "");
  return tail.replace(/^:/, "").replace(/%([0-9A-F]{2})/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
}

/** Whether an address belongs to a construct itself (its judge, its question), not to a node. */
export function isInner(place: string): boolean {
  return place.startsWith(":") || place.includes("/:");
}
