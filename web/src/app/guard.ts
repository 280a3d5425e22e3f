/**
 * A button that has just appeared, that has got another label, or that was pressed, takes no press
 * for a moment, and neither does whatever is at that place by then: a second click that was meant
 * for what stood there before has no effect.
 */
export const GUARD_MS = 700;

/** What only opens and closes a part of the page changes nothing. */
const CONTROLS = ".button:not(summary), .kind-button";
/** Two presses that are nearer to each other are at one place. */
const NEAR_PX = 8;
/** Buttons that people press many times in a row: the next iteration, undo. */
const REPEATED = "[data-repeats]";

interface Known {
  label: string;
  /** Takes a press again; null once it does. */
  opening: ReturnType<typeof setTimeout> | null;
}

/** Watches all buttons below an element, until the function that it gives is called. */
export function guardButtons(root: HTMLElement): () => void {
  const known = new WeakMap<Element, Known>();
  let last = { x: 0, y: 0, time: -GUARD_MS };
  const close = (button: Element, label: string) => {
    clearTimeout(known.get(button)?.opening ?? undefined);
    const open = () => {
      known.set(button, { label, opening: null });
      button.removeAttribute("aria-disabled");
    };
    button.setAttribute("aria-disabled", "true");
    known.set(button, { label, opening: setTimeout(open, GUARD_MS) });
  };
  const look = (button: Element) => {
    const label = labelOf(button);
    if (known.get(button)?.label !== label) close(button, label);
  };
  const press = (event: MouseEvent) => {
    const button = event.target instanceof Element ? event.target.closest(CONTROLS) : null;
    const [x, y, time] = [event.clientX, event.clientY, performance.now()];
    // Whatever has moved to where a button was pressed: a row, a node of the graph.
    const isSecond = event.detail > 0 && time - last.time < GUARD_MS && Math.hypot(x - last.x, y - last.y) < NEAR_PX;
    // Enter in a field presses the button of its form; forms know whether they were sent.
    if (!isSecond && (!button || (event.detail === 0 && document.activeElement !== button))) return;
    if (button) look(button);
    if (isSecond || (button && known.get(button)?.opening != null)) {
      event.preventDefault();
      event.stopImmediatePropagation();
    } else if (button && !button.matches(REPEATED)) {
      close(button, labelOf(button));
      if (event.detail > 0) last = { x, y, time };
    }
  };
  // What a person has scrolled to is meant.
  const scrolled = () => (last = { ...last, time: -GUARD_MS });
  const observer = new MutationObserver((changes) => {
    for (const { target, addedNodes } of changes) {
      const inside = (target instanceof Element ? target : target.parentElement)?.closest(CONTROLS);
      if (inside) look(inside);
      for (const node of addedNodes) {
        if (!(node instanceof Element)) continue;
        if (node.matches(CONTROLS)) look(node);
        node.querySelectorAll(CONTROLS).forEach(look);
      }
    }
  });
  root.querySelectorAll(CONTROLS).forEach(look);
  observer.observe(root, { subtree: true, childList: true, characterData: true });
  root.addEventListener("click", press, true);
  root.addEventListener("scroll", scrolled, true);
  return () => {
    observer.disconnect();
    root.removeEventListener("click", press, true);
    root.removeEventListener("scroll", scrolled, true);
  };
}

/** What it does, in words; a number in it may count while somebody looks. */
const labelOf = (button: Element): string => (button.textContent ?? "").replace(/\d+/g, "#");
