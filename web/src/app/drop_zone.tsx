// Files dropped anywhere on the page.
import { useEffect, useState } from "preact/hooks";

export function DropZone({ onFiles }: { onFiles: (files: File[]) => void }) {
  const [over, setOver] = useState(false);
  useEffect(() => {
    const has = (e: DragEvent) => [...(e.dataTransfer?.types ?? [])].includes("Files");
    const drag = (e: DragEvent) => { if (has(e)) { e.preventDefault(); setOver(true); } };
    const leave = (e: DragEvent) => { if (e.relatedTarget === null) setOver(false); };
    const drop = (e: DragEvent) => {
      if (!has(e)) return;
      e.preventDefault();
      setOver(false);
      const files = [...(e.dataTransfer?.files ?? [])];
      if (files.length > 0) onFiles(files);
    };
    addEventListener("dragover", drag); addEventListener("dragleave", leave); addEventListener("drop", drop);
    return () => { removeEventListener("dragover", drag); removeEventListener("dragleave", leave); removeEventListener("drop", drop); };
  }, []);
  return over ? <div class="drop-here" aria-hidden="true"><p>Drop the traces of one job here</p></div> : null;
}
