/** The session: one client for all screens, and whether it still has a token that is taken. */
import { createContext, useCallback, useContext, useEffect, useState, type ReactNode } from "react";
import { createClient, type Client } from "../api";
import { forgetToken, readToken, saveToken, takeToken } from "./token";
import { TokenPage } from "./TokenPage";

const ClientContext = createContext<Client | null>(null);

export function useClient(): Client {
  const client = useContext(ClientContext);
  if (!client) throw new Error("useClient needs a Session around it");
  return client;
}

/** Asks for the token where there is none, or where the server does not take it. */
export function Session({ children }: { children: ReactNode }) {
  const [state, setState] = useState<"asking" | "refused" | "open">(readToken() ? "open" : "asking");
  const [client, setClient] = useState(() => makeClient(() => setState("refused")));
  const give = useCallback((token: string) => {
    saveToken(token);
    setClient(makeClient(() => setState("refused")));
    setState("open");
  }, []);
  useEffect(() => {
    // A new link with a token may be opened in a tab that shows the page already.
    const look = () => {
      if (takeToken()) give(readToken() ?? "");
    };
    addEventListener("hashchange", look);
    return () => removeEventListener("hashchange", look);
  }, [give]);
  if (state !== "open") return <TokenPage isRefused={state === "refused"} onToken={give} />;
  return <ClientContext value={client}>{children}</ClientContext>;
}

function makeClient(onRefused: () => void): Client {
  const onUnauthorized = () => {
    forgetToken();
    onRefused();
  };
  return createClient({ token: readToken, onUnauthorized });
}

export interface Loaded<T> {
  value: T | null;
  error: unknown;
  isLoading: boolean;
  reload: () => void;
}

/** Loads something when `deps` change; what comes too late is dropped. */
export function useLoad<T>(load: (client: Client, signal: AbortSignal) => Promise<T>, deps: unknown[]): Loaded<T> {
  const client = useClient();
  const [turn, setTurn] = useState(0);
  const [state, setState] = useState<Omit<Loaded<T>, "reload">>({ value: null, error: null, isLoading: true });
  useEffect(() => {
    const abort = new AbortController();
    setState((before) => ({ ...before, error: null, isLoading: true }));
    load(client, abort.signal).then(
      (value) => abort.signal.aborted || setState({ value, error: null, isLoading: false }),
      (error: unknown) => abort.signal.aborted || setState({ value: null, error, isLoading: false }),
    );
    return () => abort.abort();
  }, [client, turn, ...deps]);
  return { ...state, reload: () => setTurn((before) => before + 1) };
}
