/** The token of a link: it is exchanged once for a cookie that no script can read, and is kept nowhere. */
import { openSession } from "../api";

interface Place {
  hash: string;
  pathname: string;
  search: string;
}

/** What a fragment such as `#token=SECRET` or `#token=SECRET&next=/runs/1` holds. */
export function tokenIn(hash: string): { token: string; next: string } | null {
  if (!hash.startsWith("#token=")) return null;
  const fields = new URLSearchParams(hash.slice(1));
  const next = fields.get("next") ?? "";
  return { token: fields.get("token") ?? "", next: next.startsWith("/") ? next : "/" };
}

/** Takes a token out of the address and opens a session with it; null where there is none. */
export function takeToken(
  place: Place = location,
  open: (token: string) => Promise<boolean> = openSession,
  replace: (url: string) => void = (url) => history.replaceState(null, "", url),
): Promise<boolean> | null {
  const found = tokenIn(place.hash);
  if (!found) return null;
  replace(`${place.pathname}${place.search}#${found.next}`);
  return open(found.token);
}
