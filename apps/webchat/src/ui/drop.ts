import { useState } from 'preact/hooks';

/** Handlers of an element that takes dropped files. */
export function useDrop(take: ((files: FileList) => void) | undefined) {
  const [isOver, setOver] = useState(false);
  const holdsFiles = ({ dataTransfer }: DragEvent) => take !== undefined && !!dataTransfer?.types.includes('Files');
  return {
    isOver,
    onDragOver: (event: DragEvent) => {
      if (!holdsFiles(event)) return;
      event.preventDefault();
      setOver(true);
    },
    onDragLeave: ({ currentTarget, relatedTarget }: DragEvent) => {
      if (!(currentTarget as Node).contains(relatedTarget as Node | null)) setOver(false);
    },
    onDrop: (event: DragEvent) => {
      if (!holdsFiles(event)) return;
      event.preventDefault();
      setOver(false);
      take?.(event.dataTransfer!.files);
    },
  };
}
