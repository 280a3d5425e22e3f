/** The session: one client for all screens, and whether the server still takes its cookie. */
import { createContext, useContext, useEffect, useMemo, useState, type ReactNode } from "react";
import { createClient, openSession, type Client, type Project } from "../api";
import { takeToken } from "./token";
import { TokenPage } from "./TokenPage";

const ClientContext = createContext<Client | null>(null);

export function useClient(): Client {
  const client = useContext(ClientContext);
  if (!client) throw new Error("useClient needs a Session around it");
  return client;
}

const ProjectContext = createContext<Pick<Loaded<Project>, "value" | "error">>({ value: null, error: null });

/** The project that is served, and what this token may do in it; null as long as it is not known. */
export const useProject = (): Project | null => useContext(ProjectContext).value;

/** Whether the token may do an operation of the server's table, and why not. As long as it is not known, it may not. */
export function useMay(operation: string): { may: boolean; why: string } {
  const { value, error } = useContext(ProjectContext);
  const may = value ? (value.may ?? []).includes(operation) : error !== null;
  return { may, why: value && !may ? `A token with the role ${value.role} may not do this: ${operation}.` : "" };
}

type State = "asking" | "refused" | "open";

/** Asks for the token where the browser has no session, or where the server does not take the one of the link. */
export function Session({ isRefused, children }: { isRefused: boolean; children: ReactNode }) {
  const [state, setState] = useState<State>(isRefused ? "refused" : "open");
  // Another token may do other things: the page begins anew with it.
  const [turn, setTurn] = useState(0);
  const client = useMemo(() => createClient({ onUnauthorized: () => setState("asking") }), []);
  useEffect(() => {
    // A new link with a token may be opened in a tab that shows the page already.
    const look = () => void takeToken()?.then((isOpen) => {
      setState(isOpen ? "open" : "refused");
      setTurn((before) => before + 1);
    });
    addEventListener("hashchange", look);
    return () => removeEventListener("hashchange", look);
  }, []);
  const give = (token: string) => void openSession(token).then((isOpen) => setState(isOpen ? "open" : "refused"));
  if (state !== "open") return <TokenPage isRefused={state === "refused"} onToken={give} />;
  return (
    <ClientContext value={client}>
      <Served key={turn}>{children}</Served>
    </ClientContext>
  );
}

function Served({ children }: { children: ReactNode }) {
  const project = useLoad((client, signal) => client.project(signal), []);
  return <ProjectContext value={project}>{children}</ProjectContext>;
}

export interface Loaded<T> {
  value: T | null;
  error: unknown;
  isLoading: boolean;
  reload: () => void;
}

/** Loads something with what it uses (`deps`), again when that or one of `when` changes; what comes too late is dropped. */
export function useLoad<T>(load: (client: Client, signal: AbortSignal) => Promise<T>, deps: unknown[], when: unknown[] = []): Loaded<T> {
  const client = useClient();
  const [turn, setTurn] = useState(0);
  const [state, setState] = useState<Omit<Loaded<T>, "reload">>({ value: null, error: null, isLoading: true });
  useEffect(() => {
    const abort = new AbortController();
    // What was loaded before stays until the new comes; that it is on its way has to be said at once.
    // eslint-disable-next-line react-hooks/set-state-in-effect
    setState((before) => ({ ...before, error: null, isLoading: true }));
    load(client, abort.signal).then(
      (value) => abort.signal.aborted || setState({ value, error: null, isLoading: false }),
      (error: unknown) => abort.signal.aborted || setState({ value: null, error, isLoading: false }),
    );
    return () => abort.abort();
    // Whoever calls it says what `load` uses, and the linter looks at that there.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [client, turn, ...deps, ...when]);
  return { ...state, reload: () => setTurn((before) => before + 1) };
}
