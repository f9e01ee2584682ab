// What surrounds every page of its own.
import { ComponentChildren } from "preact";
import { WhyOpen } from "../report/why";

export const goTo = (id: string) => () => document.getElementById(id)?.scrollIntoView();

export function Frame({ title, under, made = "Predicted by distsim.", children }: { title: string; under?: string; made?: string; children: ComponentChildren }) {
  return (
    <WhyOpen.Provider value={goTo("about")}>
      <header><div class="long"><h1>{title}</h1>{under && <div class="small soft">{under}</div>}</div></header>
      <main class="page">{children}</main>
      <footer class="small soft">{made} This page works offline.</footer>
    </WhyOpen.Provider>
  );
}

export function About({ children }: { children: ComponentChildren }) { return <section id="about"><h2>What the figures rest on</h2><p>{children}</p></section>; }
