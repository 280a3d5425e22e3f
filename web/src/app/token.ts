/** The token: it comes in the fragment, stays in this tab, and is never in an address again. */

const KEY = "whorl.token";

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

/** Moves a token from the address into the storage of the tab. */
export function takeToken(
  place: Place = location,
  storage: Storage = sessionStorage,
  replace: (url: string) => void = (url) => history.replaceState(null, "", url),
): boolean {
  const found = tokenIn(place.hash);
  if (!found) return false;
  if (found.token) storage.setItem(KEY, found.token);
  replace(`${place.pathname}${place.search}#${found.next}`);
  return true;
}

export const readToken = (): string | null => sessionStorage.getItem(KEY);

export const saveToken = (token: string): void => sessionStorage.setItem(KEY, token.trim());

export const forgetToken = (): void => sessionStorage.removeItem(KEY);
