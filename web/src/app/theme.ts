/** Light, dark, or as the system has it: one attribute, everything else is CSS variables. */
import { useEffect, useState } from "react";

export type Theme = "system" | "light" | "dark";

const KEY = "whorl.theme";
const ORDER: readonly Theme[] = ["system", "light", "dark"];

export function readTheme(): Theme {
  const stored = localStorage.getItem(KEY);
  return ORDER.find((theme) => theme === stored) ?? "system";
}

export function applyTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

export function useTheme(): { theme: Theme; next: () => void } {
  const [theme, setTheme] = useState(readTheme);
  useEffect(() => {
    applyTheme(theme);
    localStorage.setItem(KEY, theme);
  }, [theme]);
  return { theme, next: () => setTheme(ORDER[(ORDER.indexOf(theme) + 1) % ORDER.length] ?? "system") };
}
