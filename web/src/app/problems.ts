// Errors in the words of the page: what was typed, and what is expected; a member of a message is the field that it comes from.
import { Answer } from "./connection";
import { Problem } from "./types";

const FIELDS: Record<string, string> = {
  nodes: "nodes", gpus_per_node: "GPUs of a node", from: "from", to: "to", at: "explain", vary: "also vary", gpus: "GPUs", "--gpus": "GPUs", price: "price per GPU and hour", axes: "Sweep", sizes: "sizes", system: "On", gpu: "On", steps: "Iterations are marked by",
  "kernels to remove": "without kernels", "kernels to fuse": "fusing neighbours", measured_on: "measured on", ranks: "ranks", sets: "with",
};
const ENDS: Record<string, string> = { busy: "Other studies of this page are still running.", timeout: "This takes more than 30 s.", stale: "Something newer was asked.", lost: "The connection to the server was lost.", cancelled: "Cancelled." };

export function told(p: Problem): string {
  const named = (text: string) => { const m = /^([\w-]+(?: to \w+)?): (.*)$/s.exec(text); return m && m[1] in FIELDS ? `${FIELDS[m[1]]}: ${m[2]}` : text; };
  const what = p.what || p.text, where = p.where === "message" ? "" : p.where.replace(/^--set /, "");
  return `${where && !what.startsWith(where) ? `${where in FIELDS ? FIELDS[where] : where}: ` : ""}${named(what)}${p.hint ? `; ${p.hint}` : ""}`;
}
// Why an answer is none.
export function why(answer: Answer): string { return answer.error ? told(answer.error as Problem) : (ENDS[answer.type] ?? answer.type); }

// A number as it is typed; an error that says so. Empty is nothing: what stands there in grey holds.
export function wholeNumber(field: string, text: string, least = 1): { value?: number; problem: string } {
  const t = text.trim();
  if (t === "") return { problem: "" };
  if (/^\d{1,15}$/.test(t) && Number(t) >= least) return { value: Number(t), problem: "" };
  return { problem: `${field}: found '${t}', expected a whole number of ${least} or more` };
}
