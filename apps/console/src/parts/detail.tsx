import { Modal } from '@mantine/core';
import type { ReactNode } from 'react';

/** Dialog with the detail of a row; open while there is one. */
export function Detail({ title, onClose, children }: { title?: string; onClose: () => void; children: ReactNode }) {
  return (
    <Modal
      opened={title !== undefined}
      onClose={onClose}
      title={title}
      size="lg"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {children}
    </Modal>
  );
}
