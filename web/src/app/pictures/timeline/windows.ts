// What of a timeline is held: the slices of each stream, cut to a window that is wider and finer than what is seen, so that moving
// and zooming need nothing new for a while.
import { Timeline, Track } from "../../types";

// Of a window, in picoseconds; `to` 0: the whole period, with the names.
export interface TimelineRequest { names: boolean; from: number; to: number; columns: number; first: number; count: number }
// `isWhole`: there is no more than the first answer.
export interface TimelineSource { (request: TimelineRequest): Promise<Timeline | null>; isWhole?: boolean }

export interface Stream {
  process: string; thread: string; rank: number; alike: number; like?: number;
  starts: Float64Array; ends: Float64Array; names: Int32Array;  // in order of time; a name below 0: -1 - category, several short steps
  asked: { from: number; to: number; least: number };           // for what, with steps down to so short; nothing: to < from
}

const NONE = { from: 0, to: -1, least: 0 };
const MARGIN = 0.5;          // of the view, on either side
const FINEST_PIXEL = 1.1;    // width of the shortest step that is asked for
const COARSEST_PIXEL = 2.6;  // from here on it is asked anew
const AT_ONCE = 8;           // streams in one answer, which is read between two frames

// Each start is told as the time since the end before.
export function streamOf(track: Track, asked: Stream["asked"] = NONE): Stream {
  const told = track.slices ?? [], n = told.length / 3;
  const starts = new Float64Array(n), ends = new Float64Array(n), names = new Int32Array(n);
  for (let i = 0, at = 0; i < n; ++i) {
    starts[i] = at += told[3 * i];
    ends[i] = at += told[3 * i + 1];
    names[i] = told[3 * i + 2];
  }
  return { process: track.process, thread: track.thread, rank: track.rank, alike: track.alike ?? 1, like: track.like, starts, ends, names, asked: track.slices ? asked : NONE };
}

// The first whose end is later.
export function firstAfter(ends: Float64Array, time: number): number {
  let low = 0, high = ends.length;
  while (low < high) { const middle = (low + high) >> 1; if (ends[middle] <= time) low = middle + 1; else high = middle; }
  return low;
}

// What to ask for next so that the streams [first, last) can be drawn from `from` to `to` on so many pixels; null: nothing.
export function nextRequest(streams: Stream[], view: { from: number; to: number; pixels: number; period: number; first: number; last: number }): TimelineRequest | null {
  const { from, to, pixels, period } = view, span = to - from, seen = { from: Math.max(0, from), to: Math.min(period, to) };
  if (seen.to <= seen.from) return null;
  const coarsest = (COARSEST_PIXEL * span) / pixels;
  const lacks = (s: Stream) => s.asked.from > seen.from || s.asked.to < seen.to || s.asked.least > coarsest;
  let first = view.first;
  while (first < view.last && !lacks(streams[first])) ++first;
  if (first >= view.last) return null;
  const begin = Math.max(0, Math.floor(from - MARGIN * span)), end = Math.min(period, Math.ceil(to + MARGIN * span));
  const columns = Math.ceil(((end - begin) / span) * (pixels / FINEST_PIXEL));
  return { names: false, from: begin, to: Math.max(begin + 1, end), columns: Math.max(64, Math.min(8192, columns)), first, count: Math.min(AT_ONCE, view.last - first) };
}
