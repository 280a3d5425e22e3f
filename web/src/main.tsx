/** The page: exchanges the token of the link for a session, then shows the app. */
import "./styles/index.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app/App";
import { guardButtons } from "./app/guard";
import { applyTheme, readTheme } from "./app/theme";
import { takeToken } from "./app/token";

applyTheme(readTheme());

guardButtons(document.body);

async function start(root: HTMLElement) {
  const isOpen = await (takeToken() ?? true);
  createRoot(root).render(
    <StrictMode>
      <App isRefused={!isOpen} />
    </StrictMode>,
  );
}

const root = document.getElementById("root");
if (root) void start(root);
