/** Routes by hash: `#/runs/ID?loop=polish&iteration=2`. What is looked at can be sent as a link. */
import { useMemo, useSyncExternalStore, type AnchorHTMLAttributes, type ReactNode } from "react";

export interface Location {
  path: string;
  query: Record<string, string>;
}

export function parseHash(hash: string): Location {
  const [path = "", search = ""] = hash.replace(/^#/, "").split("?", 2);
  return { path: path || "/", query: Object.fromEntries(new URLSearchParams(search)) };
}

/** The values of a pattern such as `/runs/:id`, or null where it does not fit. */
export function matchPath(pattern: string, path: string): Record<string, string> | null {
  const wanted = pattern.split("/");
  const given = path.split("/");
  if (wanted.length !== given.length) return null;
  const values: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? "";
    if (part.startsWith(":")) {
      if (!value) return null;
      values[part.slice(1)] = decode(value);
    } else if (part !== value) return null;
  }
  return values;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

type Query = Record<string, string | number | null | undefined>;

/** An address of a screen; query values that are empty are left out. */
export function hrefTo(path: string, query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") search.set(name, String(value));
  }
  const text = search.toString();
  return `#${path}${text ? `?${text}` : ""}`;
}

export const runPath = (id: string, rest = ""): string => `/runs/${encodeURIComponent(id)}${rest}`;

/** Goes to a screen; `replace` leaves no step for the back button (choosing an iteration). */
export function navigate(path: string, query: Query = {}, { replace = false } = {}): void {
  const target = hrefTo(path, query);
  if (target === location.hash) return;
  if (!replace) {
    location.hash = target;
    return;
  }
  history.replaceState(null, "", target);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

const subscribe = (listener: () => void) => {
  addEventListener("hashchange", listener);
  return () => removeEventListener("hashchange", listener);
};

export function useLocation(): Location {
  const hash = useSyncExternalStore(subscribe, () => location.hash);
  return useMemo(() => parseHash(hash), [hash]);
}

interface LinkProps extends AnchorHTMLAttributes<HTMLAnchorElement> {
  to: string;
  query?: Query;
  children: ReactNode;
}

export function Link({ to, query, children, ...rest }: LinkProps) {
  return (
    <a {...rest} href={hrefTo(to, query)}>
      {children}
    </a>
  );
}
