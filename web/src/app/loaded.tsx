/**
 * A component that is loaded when it is first shown.
 *
 * React's own `lazy` would do, but React shows nothing new for 0.3 s after it has shown that
 * something is loading, and most screens are there much sooner.
 */
import { useEffect, useState, type ComponentType } from "react";
import { Loading } from "./Notice";

export function loaded<Props extends object>(load: () => Promise<{ default: ComponentType<Props> }>, what: string): ComponentType<Props> {
  let known: ComponentType<Props> | null = null;
  return function Loaded(props: Props) {
    const [found, setFound] = useState({ Component: known, fault: null as unknown });
    useEffect(() => {
      if (known) return;
      let isShown = true;
      load().then(
        (module) => {
          known = module.default;
          if (isShown) setFound({ Component: known, fault: null });
        },
        (fault: unknown) => {
          if (isShown) setFound({ Component: null, fault });
        },
      );
      return () => {
        isShown = false;
      };
    }, []);
    if (found.fault !== null) throw found.fault;
    const { Component } = found;
    return Component ? <Component {...props} /> : <Loading what={what} />;
  };
}
