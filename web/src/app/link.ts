// An experiment's text in the part of the URL behind '#', compressed: to keep, and to send to somebody.
const MOST = 256 << 10;

async function through(data: Uint8Array, stream: GenericTransformStream, most: number): Promise<Uint8Array> {
  const reader = new Blob([data as BlobPart]).stream().pipeThrough(stream as ReadableWritablePair<Uint8Array, Uint8Array>).getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > most) throw new Error("too long");
    parts.push(value);
  }
  const out = new Uint8Array(size);
  let at = 0;
  for (const part of parts) { out.set(part, at); at += part.length; }
  return out;
}

export async function toLink(text: string): Promise<string> {
  const packed = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"), 2 * MOST);
  let binary = "";
  for (const byte of packed) binary += String.fromCharCode(byte);
  return `#e=${btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

// Nothing where the part is none of ours. Throws where it is damaged or cut off.
export async function fromLink(hash: string): Promise<string | null> {
  if (!hash.startsWith("#e=")) return null;
  const binary = atob(hash.slice(3).replaceAll("-", "+").replaceAll("_", "/"));
  const packed = Uint8Array.from(binary, (c) => c.charCodeAt(0));
  return new TextDecoder("utf-8", { fatal: true }).decode(await through(packed, new DecompressionStream("deflate-raw"), MOST));
}
