/** The shell around all screens: header, skip link, keys, the route's screen. */
import { Component, useEffect, useRef, type ReactNode } from "react";
import { DialogHost } from "../dialogs";
import { ROUTES } from "../screens";
import { KeyListener } from "./keys";
import { Empty, ErrorNotice } from "./Notice";
import { Link, matchPath, useLocation, type Location } from "./router";
import { Session, useProject } from "./session";
import { useTheme } from "./theme";

export function App({ isRefused }: { isRefused: boolean }) {
  return (
    <Session isRefused={isRefused}>
      <Shell />
    </Session>
  );
}

function Shell() {
  const location = useLocation();
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  useEffect(() => {
    // Who cannot see that the screen has changed is taken to its beginning.
    if (!isFirst.current) main.current?.focus();
    isFirst.current = false;
  }, [location.path]);
  const skip = () => main.current?.focus();
  return (
    <>
      <button type="button" className="skip-link" onClick={skip}>
        Skip to the content
      </button>
      <Header path={location.path} />
      <main ref={main} tabIndex={-1} className="main">
        <Boundary key={location.path}>
          <Screen location={location} />
        </Boundary>
      </main>
      <KeyListener />
      <DialogHost />
    </>
  );
}

const THEMES = { system: "◐", light: "☀", dark: "☾" } as const;

function Header({ path }: { path: string }) {
  const { theme, next } = useTheme();
  const project = useProject();
  return (
    <header className="header">
      <Link to="/" className="brand">
        Whorl
      </Link>
      <nav aria-label="screens">
        {ROUTES.filter((route) => route.menu).map((route) => (
          <Link key={route.pattern} to={route.pattern} aria-current={path === route.pattern ? "page" : undefined}>
            {route.menu}
          </Link>
        ))}
      </nav>
      <span className="header-project" title={project?.root}>
        {project?.name}
      </span>
      {project?.provider.note && <span className="faint">{project.provider.note}</span>}
      <button type="button" className="button button-quiet" onClick={next} aria-label={`theme: ${theme}`}>
        {THEMES[theme]} <span className="theme-word">{theme}</span>
      </button>
    </header>
  );
}

function Screen({ location }: { location: Location }) {
  for (const { pattern, screen: Found } of ROUTES) {
    const values = matchPath(pattern, location.path);
    if (values) return <Found values={values} query={location.query} />;
  }
  return (
    <Empty title="No such page" isPage>
      <Link to="/">All runs</Link>
    </Empty>
  );
}

/** A screen that fails leaves the header and the way back. */
class Boundary extends Component<{ children: ReactNode }, { error: unknown }> {
  override state = { error: null };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    if (this.state.error === null) return this.props.children;
    return <ErrorNotice error={this.state.error} isPage onRetry={() => this.setState({ error: null })} />;
  }
}
