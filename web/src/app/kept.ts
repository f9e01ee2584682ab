// State of a view that stays when another one is shown: what a study found is not lost by looking at what it led to.
import { useLayoutEffect, useState } from "preact/hooks";

const values = new Map<string, unknown>();
const watchers = new Map<string, Set<() => void>>();

export function setKept<T>(key: string, next: T | ((before: T) => T), first: T) {
  const before = (values.has(key) ? values.get(key) : first) as T;
  values.set(key, typeof next === "function" ? (next as (before: T) => T)(before) : next);
  for (const tell of watchers.get(key) ?? []) tell();
}

export function useKept<T>(key: string, first: T): [T, (next: T | ((before: T) => T)) => void] {
  const [, tick] = useState(0);
  // With the drawing itself, and not after it is painted: what is typed in between would be kept and not seen.
  useLayoutEffect(() => {
    const tell = () => tick((n) => n + 1);
    const list = watchers.get(key) ?? new Set();
    watchers.set(key, list.add(tell));
    return () => void list.delete(tell);
  }, [key]);
  return [(values.has(key) ? values.get(key) : first) as T, (next) => setKept(key, next, first)];
}
