// Files that the page itself makes.
export function save(url: string, name: string) {
  const a = document.createElement("a");
  a.href = url;
  a.download = name;
  a.click();
}
export function saveBlob(blob: Blob, name: string) {
  const url = URL.createObjectURL(blob);
  save(url, name);
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
export const saveText = (text: string, name: string, type: string) => saveBlob(new Blob([text], { type }), name);
