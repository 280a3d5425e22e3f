/** The signs of kinds of steps, by the names that palettes give; colour is never the only one. */

const DRAWN: Record<string, string> = {
  bot: "M5 9h14v10H5zM12 9V5M9 4h6M9 14v1M15 14v1M2 13v3M22 13v3",
  braces: "M9 4H7a2 2 0 0 0-2 2v4l-2 2 2 2v4a2 2 0 0 0 2 2h2M15 4h2a2 2 0 0 1 2 2v4l2 2-2 2v4a2 2 0 0 1-2 2h-2",
  "check-check": "M2 13l5 5L17 7M11 16l2 2L22 8",
  "circle-dot": "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 11v2",
  clock: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 7v5l3 2",
  code: "M8 7l-5 5 5 5M16 7l5 5-5 5",
  columns: "M4 4h16v16H4zM12 4v16",
  combine: "M4 5h6v6H4zM14 5h6v6h-6zM7 11v4h10v-4M12 15v5",
  "file-pen": "M13 3H6v18h12v-7M14 11l6-6 2 2-6 6h-2z",
  "file-text": "M6 3h8l4 4v14H6zM9 12h6M9 16h6",
  folder: "M3 6h6l2 2h10v11H3z",
  "folder-search": "M21 12V8H11L9 6H3v13h8M16 14a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM18 19l3 3",
  "git-branch": "M6 3v12M6 15a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM18 3a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM18 9a9 9 0 0 1-9 9",
  globe: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM3 12h18M12 3c3 3 3 15 0 18M12 3c-3 3-3 15 0 18",
  hash: "M4 9h16M4 15h16M10 3L8 21M16 3l-2 18",
  list: "M9 6h12M9 12h12M9 18h12M4 6v.1M4 12v.1M4 18v.1",
  lock: "M5 11h14v10H5zM8 11V7a4 4 0 0 1 8 0v4",
  "log-in": "M15 3h4a2 2 0 0 1 2 2v14a2 2 0 0 1-2 2h-4M10 17l5-5-5-5M15 12H3",
  "log-out": "M9 21H5a2 2 0 0 1-2-2V5a2 2 0 0 1 2-2h4M16 17l5-5-5-5M21 12H9",
  "message-square": "M4 4h16v12H9l-5 4z",
  minus: "M4 12h16",
  octagon: "M8 3h8l5 5v8l-5 5H8l-5-5V8zM9 9l6 6M15 9l-6 6",
  pin: "M9 3h6l-1 7 4 4H6l4-4zM12 14v7",
  play: "M7 4l13 8-13 8z",
  repeat: "M3 12a9 9 0 0 1 9-9 9.75 9.75 0 0 1 6.74 2.74L21 8M21 3v5h-5M21 12a9 9 0 0 1-9 9 9.75 9.75 0 0 1-6.74-2.74L3 16M8 16H3v5",
  "skip-forward": "M5 5l10 7-10 7zM19 5v14",
  split: "M12 21v-8L5 6M5 11V6h5M12 13l7-7M14 6h5v5",
  "sticky-note": "M4 4h16v11l-5 5H4zM20 15h-5v5",
  terminal: "M4 6l6 6-6 6M12 19h8",
  "user-check": "M9 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM2 20c0-4 3-6 7-6 2 0 4 .5 5 2M15 18l2 2 5-5",
  variable: "M8 4c-5 4-5 12 0 16M16 4c5 4 5 12 0 16M9 9l6 6M15 9l-6 6",
  workflow: "M4 4h6v6H4zM14 14h6v6h-6zM7 10v7h7",
  wrench: "M15 6a4 4 0 0 0-5 5L4 17l3 3 6-6a4 4 0 0 0 5-5l-3 2-2-2z",
};
const USUAL = "M5 5h14v14H5z";

export function Icon({ icon }: { icon: string }) {
  return (
    <svg aria-hidden="true" className="kind-icon" data-icon={icon} viewBox="0 0 24 24" width="14" height="14" fill="none" stroke="currentColor" strokeWidth="2" strokeLinecap="round" strokeLinejoin="round">
      <path d={DRAWN[icon] ?? USUAL} />
    </svg>
  );
}
