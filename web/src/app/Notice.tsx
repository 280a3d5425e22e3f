/** What a screen shows when there is nothing to show: loading, empty, an error, no connection. */
import type { ReactNode } from "react";
import { ApiError, retryNow, type Connection } from "../api";
import { visible } from "../journal/words";

export function Loading({ what }: { what: string }) {
  return (
    <p className="notice" role="status">
      Loading {what}…
    </p>
  );
}

/** `isPage`: it is all that the screen shows, and so its title is that of the page. */
export function Empty({ title, isPage = false, children }: { title: string; isPage?: boolean; children?: ReactNode }) {
  const Title = isPage ? "h1" : "h2";
  return (
    <div className="notice">
      <Title>{title}</Title>
      {children}
    </div>
  );
}

export function ErrorNotice({ error, isPage = false, onRetry }: { error: unknown; isPage?: boolean; onRetry?: () => void }) {
  const { title, message, help } = errorWords(error);
  const Title = isPage ? "h1" : "h2";
  return (
    <div className="notice notice-error" role="alert">
      <Title>
        <span aria-hidden="true">✗ </span>
        {title}
      </Title>
      <p>{visible(message)}</p>
      {help && <p className="help">{visible(help)}</p>}
      {onRetry && (
        <button type="button" className="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** An error in the words of the page. */
export function errorWords(error: unknown): { title: string; message: string; help: string } {
  if (error instanceof ApiError) {
    const title = error.status === 404 ? "Not found" : error.code ? `Error ${error.code}` : "Error";
    return { title, message: error.message, help: error.help };
  }
  return { title: "Error", message: error instanceof Error ? error.message : String(error), help: "" };
}

const CONNECTIONS: Record<Connection, [glyph: string, words: string]> = {
  connecting: ["◌", "connecting"],
  live: ["●", "live"],
  lost: ["○", "reconnecting"],
  refused: ["✗", "not connected"],
  closed: ["○", "not connected"],
};

/** Whether changes are seen as they happen; of what has ended, only that they would not be. */
export function LiveIndicator({ state, isOver = false }: { state: Connection; isOver?: boolean }) {
  const [glyph, text] = CONNECTIONS[state];
  if (isOver && (state === "live" || state === "connecting")) return null;
  return (
    <span className={`live live-${state}`} role="status">
      <span aria-hidden="true">{glyph}</span> {text}
      {state === "lost" && (
        <button type="button" className="button button-quiet button-small" onClick={retryNow}>
          Try now
        </button>
      )}
    </span>
  );
}
