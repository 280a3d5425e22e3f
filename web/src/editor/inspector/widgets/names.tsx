/** The names that can be read at a step, asked of the server when somebody types one. */
import { createContext, useMemo, useRef, useState, type ReactNode } from "react";
import { useClient } from "../../../app/session";
import type { Editor } from "../../contract";
import { isAbsent, send, type Name } from "../calls";

interface Asked {
  names: (at: string) => readonly Name[];
  load: (at: string) => void;
}

export const NamesContext = createContext<Asked>({ names: () => [], load: () => undefined });

interface Answer {
  names: Name[];
}

/** Knows the names of the text as it is; a server that does not tell them is not asked again. */
export function NamesProvider({ editor, children }: { editor: Editor; children: ReactNode }) {
  const client = useClient();
  const [known, setKnown] = useState<{ text: string; at: string; names: readonly Name[] }>({ text: "", at: "", names: [] });
  const asking = useRef("");
  const isSilent = useRef(false);
  const { file, text } = editor;
  const asked = useMemo<Asked>(
    () => ({
      names: (at) => (known.at === at ? known.names : []),
      load: (at) => {
        const key = `${at}\n${text}`;
        if (isSilent.current || asking.current === key) return;
        asking.current = key;
        send<Answer>(client, "POST", "/api/workflows/names", { name: file, text, at }).then(
          (answer) => asking.current === key && setKnown({ text, at, names: answer.names }),
          (error: unknown) => {
            isSilent.current = isAbsent(error);
          },
        );
      },
    }),
    [client, file, text, known],
  );
  return <NamesContext value={asked}>{children}</NamesContext>;
}
