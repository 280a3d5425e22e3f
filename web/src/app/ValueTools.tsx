/** What can be done with a value: another way to see it, copy, download, a window of its own. */
import { useEffect, useRef, useState, type ReactNode } from "react";

interface ValueToolsProps {
  text: string;
  isData: boolean;
  /** Whether the text can be seen in another way, and whether it is. */
  toggle?: { isOn: boolean; onChange: (isOn: boolean) => void };
  children: ReactNode;
}

export function ValueTools({ text, isData, toggle, children }: ValueToolsProps) {
  const [isCopied, setCopied] = useState(false);
  const [isLarge, setLarge] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), 2_000);
    return () => clearTimeout(timer);
  }, [isCopied]);
  return (
    <div className="value-box">
      {children}
      <div className="value-tools" role="group" aria-label="this value">
        {toggle && (
          <button type="button" className="link" aria-pressed={toggle.isOn} onClick={() => toggle.onChange(!toggle.isOn)}>
            {toggle.isOn ? "Source" : "Rendered"}
          </button>
        )}
        <button type="button" className="link" onClick={() => void copy(text).then(setCopied)}>
          {isCopied ? "Copied" : "Copy"}
        </button>
        <button type="button" className="link" onClick={() => download(text, isData)}>
          Download
        </button>
        <button type="button" className="link" onClick={() => setLarge(true)}>
          Expand
        </button>
      </div>
      {isLarge && <Large onClose={() => setLarge(false)}>{children}</Large>}
    </div>
  );
}

function Large({ onClose, children }: { onClose: () => void; children: ReactNode }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} className="dialog value-large" aria-label="the whole value" onClose={onClose} onKeyDown={(event) => event.stopPropagation()}>
      <p className="value-close">
        <button type="button" className="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </p>
      {children}
    </dialog>
  );
}

/** Browsers offer the clipboard to addresses that they trust only: there is an old way for the others. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const isDone = document.execCommand("copy");
    area.remove();
    return isDone;
  }
}

function download(text: string, isData: boolean): void {
  const url = URL.createObjectURL(new Blob([text], { type: isData ? "application/json" : "text/plain;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = isData ? "value.json" : "value.txt";
  link.click();
  URL.revokeObjectURL(url);
}
