/**
 * A button that has just appeared, that has got another label, or that was pressed, takes no press
 * for a moment: a second click that was meant for what stood there before has no effect.
 */
export const GUARD_MS = 700;

const CONTROLS = ".button";
/** Buttons that people press many times in a row: the next iteration, undo. */
const REPEATED = "[data-repeats]";

interface Known {
  label: string;
  /** Before this moment it takes no press. */
  until: number;
}

/** Watches all buttons below an element, until the function that it gives is called. */
export function guardButtons(root: HTMLElement): () => void {
  const known = new WeakMap<Element, Known>();
  const close = (button: Element, label: string) => {
    const until = performance.now() + GUARD_MS;
    known.set(button, { label, until });
    button.setAttribute("aria-disabled", "true");
    setTimeout(() => known.get(button)?.until === until && button.removeAttribute("aria-disabled"), GUARD_MS);
  };
  const look = (button: Element) => {
    const label = labelOf(button);
    if (known.get(button)?.label !== label) close(button, label);
  };
  const press = (event: MouseEvent) => {
    const button = event.target instanceof Element ? event.target.closest(CONTROLS) : null;
    // Enter in a field presses the button of its form; forms know whether they were sent.
    if (!button || (event.detail === 0 && document.activeElement !== button)) return;
    look(button);
    if (performance.now() < (known.get(button)?.until ?? 0)) {
      event.preventDefault();
      event.stopImmediatePropagation();
    } else if (!button.matches(REPEATED)) close(button, labelOf(button));
  };
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
  return () => {
    observer.disconnect();
    root.removeEventListener("click", press, true);
  };
}

/** What it does, in words; a number in it may count while somebody looks. */
const labelOf = (button: Element): string => (button.textContent ?? "").replace(/\d+/g, "#");
