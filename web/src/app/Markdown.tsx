/** Text of models as Markdown: React elements only, so no HTML of the text, and nothing is loaded from elsewhere. */
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { visible } from "../journal/words";

const PLUGINS = [remarkGfm];

const PARTS: Components = {
  // Headings of a text must not stand among those of the page.
  h1: ({ children }) => <p className="md-head md-head-1">{children}</p>,
  h2: ({ children }) => <p className="md-head md-head-2">{children}</p>,
  h3: ({ children }) => <p className="md-head">{children}</p>,
  h4: ({ children }) => <p className="md-head">{children}</p>,
  h5: ({ children }) => <p className="md-head">{children}</p>,
  h6: ({ children }) => <p className="md-head">{children}</p>,
  img: ({ alt, src }) => <span className="faint">[image{alt ? `: ${alt}` : ""}{typeof src === "string" && src ? `, ${src}` : ""}]</span>,
  a: ({ href, children }) =>
    href ? (
      <a href={href} title={href} target="_blank" rel="noopener noreferrer">
        {children}
      </a>
    ) : (
      <span>{children}</span>
    ),
  input: ({ checked }) => <span>{checked ? "☑" : "☐"} </span>,
};

export default function Markdown({ text }: { text: string }) {
  return (
    <div className="markdown" tabIndex={0} role="group" aria-label="rendered text">
      <ReactMarkdown remarkPlugins={PLUGINS} components={PARTS}>
        {visible(text)}
      </ReactMarkdown>
    </div>
  );
}
