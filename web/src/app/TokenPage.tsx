/** Asks for the token: it is in the address that `whorl serve` prints. */
import { useState, type FormEvent } from "react";

export function TokenPage({ isRefused, onToken }: { isRefused: boolean; onToken: (token: string) => void }) {
  const [token, setToken] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (token.trim()) onToken(token.trim());
  };
  return (
    <main className="token-page">
      <h1>Whorl</h1>
      {isRefused && (
        <p role="alert" className="notice-error">
          <span aria-hidden="true">✗ </span>The server does not accept this token. It makes a new one each time it starts.
        </p>
      )}
      <form onSubmit={submit}>
        <label htmlFor="token">Token</label>
        <input
          id="token"
          type="password"
          autoComplete="off"
          spellCheck={false}
          autoFocus
          value={token}
          onChange={(event) => setToken(event.target.value)}
        />
        <button className="button button-main">Open</button>
      </form>
      <p className="help">
        <code>whorl serve</code> prints an address that contains the token. Open it, or paste the token here.
        This signs in all tabs of this browser. The token itself is not stored.
      </p>
    </main>
  );
}
