// Keys of a list of tabs: arrows go round, Home and End to its ends.
export function tabFor<T>(key: string, list: readonly T[], now: T): T | null {
  const at = list.indexOf(now), n = list.length;
  const next: Record<string, number> = { ArrowRight: (at + 1) % n, ArrowLeft: (at + n - 1) % n, Home: 0, End: n - 1 };
  return key in next ? list[next[key]] : null;
}
