// What the program prints, as a person reads it: prose wraps, rows of columns keep their places and scroll.
export function Explanation({ text, label = "Explanation" }: { text: string; label?: string }) {
  return <div class="explanation" tabIndex={0} role="region" aria-label={label}>{text.trimEnd().split("\n").map((line, i) => <div key={i} class={/\S {2,}\S/.test(line) ? "columns-of-text" : "prose"}>{line || " "}</div>)}</div>;
}
